// From the last group to the first one, each says what it takes.
#include "compiler/mapping/drop_unused.h"

#include <algorithm>
#include <set>

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Whether a node that is none of these takes the value, or the value in another shape.
bool used_beside(const Graph& g, ValueId v, const std::vector<NodeId>& nodes) {
  const std::vector<NodeId>& users = g.value(v).users;
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    if (graph::is_transparent(g, user)) return used_beside(g, g.node(user).outputs[0], nodes);
    return std::find(nodes.begin(), nodes.end(), user) == nodes.end();
  });
}

// What the model gives, and states of which others have to hear.
std::set<ValueId> taken_anyway(const Graph& g, const std::vector<graph::Group>& groups,
                               const KeptStates& kept) {
  std::set<ValueId> taken;
  for (ValueId v : g.outputs)
    if (!kept.is_after(v)) taken.insert(graph::source_of(g, v));
  for (const graph::Group& group : groups)
    for (NodeId id : group.nodes)
      for (ValueId v : g.node(id).outputs) {
        const auto before = kept.before.find(v);
        if (before != kept.before.end() && used_beside(g, before->second, group.nodes)) taken.insert(v);
      }
  return taken;
}

}  // namespace

void drop_unused(const Graph& g, const std::vector<graph::Group>& groups, const KeptStates& kept,
                 std::map<size_t, Instance>& made) {
  std::set<ValueId> taken = taken_anyway(g, groups, kept);
  for (size_t i = groups.size(); i-- > 0;) {
    const auto found = made.find(i);
    if (found == made.end()) {
      for (NodeId id : groups[i].nodes)
        for (ValueId v : g.node(id).inputs)
          if (v.valid()) taken.insert(graph::source_of(g, v));
      continue;
    }
    Instance& inst = found->second;
    const auto is_state = [](const kernels::PackedConstant& c) { return !c.state.empty(); };
    const bool keeps = std::any_of(inst.constants.begin(), inst.constants.end(), is_state);
    const auto is_taken = [&](ValueId v) { return taken.count(v) > 0; };
    if (!keeps && std::none_of(inst.results.begin(), inst.results.end(), is_taken)) {
      made.erase(found);
      continue;
    }
    inst.work.kind->keep_results(taken, inst);
    for (ValueId v : inst.operands) taken.insert(graph::source_of(g, v));
  }
}

}  // namespace cs::mapping

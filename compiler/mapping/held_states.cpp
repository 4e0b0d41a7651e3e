// A walk over the users of a state, through views.
#include "compiler/mapping/held_states.h"

#include <algorithm>

#include "compiler/kernels/kind.h"

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool host_takes(const Graph& g, ValueId v) {
  if (g.value(v).is_output) return true;
  const std::vector<NodeId>& users = g.value(v).users;
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    if (graph::is_transparent(g, user)) return host_takes(g, g.node(user).outputs[0]);
    return g.node(user).assignment.origin == Origin::host;
  });
}

bool fits_words(const ops::TensorType& type) {
  return type.dtype == DataType::f32 || type.dtype == DataType::i32;
}

}  // namespace

std::vector<const graph::State*> held_states(const Graph& g, std::span<const NodeId> nodes) {
  std::vector<const graph::State*> held;
  const kernels::Kind* kind = nodes.empty() ? nullptr : kernels::kernel_of(g, nodes.front()).kind;
  if (kind == nullptr || !kind->keeps_states()) return held;
  const auto inside = [&](NodeId id) { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); };
  for (const graph::State& s : g.states) {
    const ValueId before = *g.find_value(s.input), after = *g.find_value(s.output);
    const graph::Value& next = g.value(after);
    if (!next.producer.valid() || !inside(next.producer) || !next.users.empty()) continue;
    const std::vector<NodeId>& users = g.value(before).users;
    if (std::none_of(users.begin(), users.end(), inside) || host_takes(g, before)) continue;
    if (fits_words(g.value(before).type)) held.push_back(&s);
  }
  return held;
}

KeptStates::KeptStates(const Graph& g, std::span<const graph::Group> groups) {
  for (const graph::Group& group : groups)
    for (const graph::State* s : held_states(g, group.nodes)) {
      const ValueId first = *g.find_value(s->input), next = *g.find_value(s->output);
      after[first] = next;
      before[next] = first;
    }
}

}  // namespace cs::mapping

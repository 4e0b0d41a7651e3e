// See resident_merge.h.
#include "compiler/mapping/resident_merge.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

bool may_be_one(const Parts& parts) {
  const auto on_host = [](const HostStep& s) { return s.kind == HostStep::Kind::op; };
  return may_generate(parts) && parts.instances.size() > 1 &&
         std::none_of(parts.host.steps.begin(), parts.host.steps.end(), on_host);
}

graph::Group together(const graph::Graph& g, const Parts& parts) {
  std::set<graph::NodeId> nodes;
  for (const Instance& i : parts.instances) nodes.insert(i.nodes.begin(), i.nodes.end());
  graph::Group group;
  group.name = parts.instances.front().name;
  for (const graph::NodeId id : g.topological())
    if (nodes.count(id) > 0) group.nodes.push_back(id);
  return group;
}

// The values that leave the nodes.
std::vector<graph::ValueId> results_of(const graph::Graph& g) {
  std::vector<graph::ValueId> list;
  for (const graph::ValueId v : g.outputs) list.push_back(graph::source_of(g, v));
  return list;
}

void describe(const graph::Graph& g, const graph::Group& group, Instance& inst) {
  inst.nodes = group.nodes;
  inst.node_names.clear();
  inst.op.clear();
  for (const graph::NodeId id : group.nodes) {
    inst.node_names.push_back(g.node(id).name);
    inst.op += (inst.op.empty() ? "" : "+") + g.node(id).op;
  }
  inst.title =
      fmt::format("{}: {} to {}", inst.name, inst.op, ops::type_text(g.value(inst.results.front()).type));
}

// Operands arrive at the kernel, its result leaves it; what was between the instances is gone.
void join_streams(const graph::Graph& g, const std::vector<Instance>& before, Parts& parts) {
  Instance& inst = parts.instances.front();
  std::vector<Stream> list;
  for (Stream& s : parts.streams) {
    const auto to_host = [](const Taker& t) { return t.instance < 0; };
    if (s.producer >= 0 && std::none_of(s.takers.begin(), s.takers.end(), to_host)) continue;
    if (s.producer >= 0) {
      const graph::ValueId v = graph::source_of(g, before[size_t(s.producer)].results[size_t(s.result)]);
      const auto at = std::find(inst.results.begin(), inst.results.end(), v);
      CS_CHECK(at != inst.results.end(), "what the host takes leaves the kernel");
      std::erase_if(s.takers, [](const Taker& t) { return t.instance >= 0; });  // of what is now inside
      s.producer = 0;
      s.result = int(at - inst.results.begin());
    }
    for (Taker& t : s.takers) {
      if (t.instance < 0) continue;
      const graph::ValueId v = graph::source_of(g, before[size_t(t.instance)].operands[size_t(t.operand)]);
      const auto at = std::find(inst.operands.begin(), inst.operands.end(), v);
      CS_CHECK(at != inst.operands.end(), "a kernel takes what its parts take");
      t = {0, int(at - inst.operands.begin())};
    }
    list.push_back(std::move(s));
  }
  parts.streams = std::move(list);
  for (OpRow& row : parts.host.ops) {
    const bool here = std::any_of(inst.nodes.begin(), inst.nodes.end(), [&](graph::NodeId id) {
      return g.node(id).name == row.name || g.node(id).from == row.name;
    });
    if (here) row.kernels = {inst.name};
  }
}

// Most forms have one result.
bool has_all_results(const kernels::Choice& form, const kernels::Choice& asked) {
  return form.work.kind->resident_arrays(form, kernels::Cut{}).results() == asked.results.size();
}

}  // namespace

std::vector<kernels::Choice> resident_forms(const graph::Graph& g, const graph::Group& group,
                                            const Machine& machine, const kernels::Choice& from,
                                            std::string& why) {
  std::vector<kernels::Choice> forms;
  for (const kernels::Kind* kind : kernels::kinds()) {
    if (kind == from.work.kind) continue;
    kernels::Choice choice = from;  // its operands may come in another order
    std::string reason;
    if (kind->take_resident(g, group, machine, choice, reason) && has_all_results(choice, from))
      forms.push_back(std::move(choice));
    else if (!reason.empty())
      why = std::move(reason);
  }
  return forms;
}

bool may_generate(const Parts& parts) { return parts.host.policy != "disabled"; }

bool merge_resident(const graph::Graph& g, const Machine& machine, Parts& parts, std::string& why) {
  if (!may_be_one(parts)) return false;
  const graph::Group group = together(g, parts);
  Instance inst = parts.instances.front();
  inst.results = results_of(g);
  if (inst.results.size() == 1 && g.value(inst.results.front()).producer != group.nodes.back()) return false;
  inst.origin = Origin::autogen;
  inst.work.kind = nullptr;  // no part's
  std::vector<kernels::Choice> forms = resident_forms(g, group, machine, inst, why);
  if (forms.empty()) return false;
  static_cast<kernels::Choice&>(inst) = std::move(forms.front());
  const std::vector<Instance> before = std::exchange(parts.instances, {});
  parts.instances.push_back(std::move(inst));
  describe(g, group, parts.instances.front());
  join_streams(g, before, parts);
  return true;
}

}  // namespace cs::mapping

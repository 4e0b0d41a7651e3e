// Roles of a slack buffer: a row of PEs, each of which passes on to the next one. They differ in their colors
// alone, which alternate along the row.
#include <fmt/format.h>

#include "compiler/mapping/roles.h"

namespace cs::mapping {

namespace {

Need queue(Resource kind, const std::string& name, int color) { return {kind, name, color, -1}; }

}  // namespace

InstanceRoles slack_roles(const Instance& inst, const InstanceFlows& flows, const std::vector<int>& in_colors,
                          const std::vector<int>& out_colors, const FlowPlan& plan) {
  const int w = inst.rect.w;
  auto chain = [&](int column) { return plan.flows[size_t(flows.chain[column % 2])].color; };
  InstanceRoles made;
  auto add = [&](const std::string& suffix, int first, int count) {
    if (count < 1) return;
    Role role;
    role.name = inst.name + suffix;
    role.what = fmt::format("{}: {}", inst.name, inst.reason);
    role.runs = {{inst.rect.x + first, inst.rect.y, count, 2, 1}};
    ModuleUse use{"slack.csl", "kernel", {}, {}};
    use.parameters = {{"n", std::to_string(inst.work.m)}, {"size", std::to_string((inst.slack + w - 1) / w)}};
    use.needs = {queue(Resource::input_queue, "in", first == 0 ? in_colors[0] : chain(first - 1)),
                 queue(Resource::output_queue, "out", first == w - 1 ? out_colors[0] : chain(first))};
    for (const char* name : {"fill", "drain"}) use.needs.push_back({Resource::local_task, name, -1, -1});
    role.modules.push_back(use);
    made.roles.push_back(role);
  };
  add("", 0, 1);
  add("_odd", 1, (w - 1) / 2);
  add("_even", 2, (w - 2) / 2);
  if (w > 1) add("_last", w - 1, 1);
  return made;
}

}  // namespace cs::mapping

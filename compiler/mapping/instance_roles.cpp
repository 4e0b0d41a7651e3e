// The roles of an instance: feeders, one PE per operand west of kernels that cut their operands into slices,
// and what the kernel itself says of its rectangle.
#include <fmt/format.h>

#include "compiler/mapping/roles.h"

namespace cs::mapping {

namespace {

int color(const FlowPlan& plan, int flow) { return flow < 0 ? 0 : plan.flows[size_t(flow)].color; }

kernels::Setting setting_of(const Instance& inst, const InstanceFlows& flows,
                            const std::vector<int>& arriving, const std::vector<int>& leaving,
                            const FlowPlan& plan, const Machine& machine) {
  kernels::Setting at{inst.name, inst.rect, inst.plan.cut, arriving, arriving, leaving.front(), {}, machine};
  at.leaving = leaving;
  at.layout = inst.layout.get();
  for (int flow : flows.gather) at.gathered.push_back(color(plan, flow));
  for (size_t k = 0; k < flows.scatter.size(); ++k) at.in[k] = color(plan, flows.scatter[k]);
  for (int parity : {0, 1}) at.chain[parity] = color(plan, flows.chain[parity]);
  return at;
}

Role feeder(const Instance& inst, int k, const kernels::Setting& at) {
  Role role;
  role.name = fmt::format("{}_feeder{}", inst.name, k > 0 ? std::to_string(k) : "");
  role.what =
      fmt::format("{}: feeder of operand {}, {} elements to {} columns", inst.name, k, inst.work.n, at.cut.w);
  const Coord here = inst.entry(k);
  role.runs = {{here.x, here.y, 1, 1, 1}};
  ModuleUse use{"feeder.csl", "feeder", {}, {}};
  use.parameters = {{"slices", std::to_string(at.cut.w)},
                    {"slice", std::to_string(at.cut.n_slice)},
                    {"last_slice", std::to_string(at.cut.n_last)}};
  use.needs = {{Resource::input_queue, "in", at.arriving[size_t(k)], -1},
               {Resource::output_queue, "out", at.in[size_t(k)], -1},
               {Resource::local_task, "send", -1, -1}};
  role.modules.push_back(use);
  return role;
}

}  // namespace

InstanceRoles roles_of(const Instance& inst, const InstanceFlows& flows, const std::vector<int>& in_colors,
                       const std::vector<int>& out_colors, const FlowPlan& plan, const Machine& machine) {
  if (inst.slack > 0) return slack_roles(inst, flows, in_colors, out_colors, plan);
  const kernels::Setting at = setting_of(inst, flows, in_colors, out_colors, plan, machine);
  InstanceRoles roles;
  for (int k = 0; !inst.in_rows() && k < inst.feeders(); ++k) roles.roles.push_back(feeder(inst, k, at));
  inst.work.kind->write_roles(inst, at, roles);
  return roles;
}

}  // namespace cs::mapping

// The roles of an instance: feeders, one PE per operand west of kernels that cut their operands into slices,
// and what the kernel itself says of its rectangle.
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
  for (int flow : flows.gates) at.gates.push_back(color(plan, flow));
  at.operands_held = inst.operands_held;
  at.operand_turns = inst.operand_turns;
  for (size_t k = 0; k < flows.scatter.size(); ++k) at.in[k] = color(plan, flows.scatter[k]);
  for (int parity : {0, 1}) at.chain[parity] = color(plan, flows.chain[parity]);
  at.back = color(plan, flows.back);
  return at;
}

}  // namespace

InstanceRoles roles_of(const Instance& inst, const InstanceFlows& flows, const std::vector<int>& in_colors,
                       const std::vector<int>& out_colors, const FlowPlan& plan, const Machine& machine) {
  const kernels::Setting at = setting_of(inst, flows, in_colors, out_colors, plan, machine);
  InstanceRoles roles;
  for (int k = 0; !inst.in_rows() && k < inst.feeders(); ++k)
    roles.roles.push_back(inst.work.kind->feeder(inst, at, k, inst.entry(k)));
  inst.work.kind->write_roles(inst, at, roles);
  return roles;
}

}  // namespace cs::mapping

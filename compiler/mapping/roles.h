// Roles: PEs that run the same program. Each gets one PE file, with queues, task ids and registers of its
// own.
//
// A kernel asks for what it needs by name (input queue "x", task "compute"); allocate_role() gives ids, over
// all instances that live in the role; verify_role() checks them against the machine without looking at how
// they came.
#pragma once

#include <string>
#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

using kernels::Buffer;
using kernels::InstanceRoles;
using kernels::ModuleUse;
using kernels::Need;
using kernels::Parameter;
using kernels::Resource;
using kernels::Role;
using kernels::Run;
using kernels::turn_word;

bool allocate_role(Role&, const Machine&, Diag&);
bool verify_role(const Role&, const Machine&, Diag&);
std::string role_text(const Role&);

// All roles of an instance, feeders included, and the text of the modules that were generated for it.
InstanceRoles roles_of(const Instance&, const InstanceFlows&, const std::vector<int>& in_colors,
                       const std::vector<int>& out_colors, const FlowPlan&, const Machine&);

}  // namespace cs::mapping

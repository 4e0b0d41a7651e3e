// Roles of a region: one per PE of its row, since the parts of the streams that they pass over differ. PEs
// with the same code share a file.
#include <fmt/format.h>

#include "compiler/autogen/region_module.h"
#include "compiler/mapping/roles.h"

namespace cs::mapping {

namespace {

using autogen::Region;
using autogen::RegionShare;
using autogen::Runs;

void add_streams(const Region& r, const RegionShare& share, const std::vector<int>& in_colors,
                 const std::vector<int>& out_colors, ModuleUse& use) {
  for (size_t i = 0; i < r.operands.size(); ++i) {
    const Runs& part = share.stored[size_t(r.operand_buffer[i])];
    int64_t all = r.program.buffers[size_t(r.operand_buffer[i])].type.elements();
    use.needs.push_back({Resource::input_queue, fmt::format("x{}", i), in_colors[i], -1});
    use.needs.push_back({Resource::local_task, fmt::format("x{}_next", i), -1, -1});
    int64_t before = part.empty() ? all : part.first, after = part.empty() ? 0 : all - 1 - part.last();
    use.parameters.push_back({fmt::format("x{}_before", i), std::to_string(before)});
    use.parameters.push_back({fmt::format("x{}_after", i), std::to_string(after)});
  }
  for (size_t j = 0; j < r.results.size(); ++j) {
    use.needs.push_back({Resource::output_queue, fmt::format("y{}", j), out_colors[j], -1});
  }
}

void add_constants(const Instance& inst, const RegionShare& share, Role& role, ModuleUse& use) {
  for (size_t k = 0; k < inst.constants.size(); ++k) {
    const Runs& part = share.stored[size_t(inst.region->constant_buffer[k])];
    if (part.empty()) continue;
    const PackedConstant& c = inst.constants[k];
    role.buffers.push_back({c.name, int(part.words()), false, fmt::format("{}_{}", inst.name, c.name),
                            "constant operand", c.integer ? "i32" : "f32"});
    use.parameters.push_back({c.name, "&" + c.name});
  }
}

}  // namespace

InstanceRoles region_roles(const Instance& inst, const std::vector<int>& in_colors,
                           const std::vector<int>& out_colors, const Machine& machine) {
  InstanceRoles made;
  int pes = inst.plan.cut.w;
  std::map<std::string, std::string> file_of;  // by text
  for (int p = 0; p < pes; ++p) {
    const RegionShare& share = inst.shares[size_t(p)];
    autogen::RegionTitle title{inst.title, fmt::format("{} PEs, every stream passes all of them", pes)};
    autogen::RegionModule module = autogen::region_module(*inst.region, share, title, machine);
    auto [file, fresh] =
        file_of.emplace(module.text, fmt::format("{}_kernel{}.csl", inst.name, file_of.size()));
    if (fresh) made.files[file->second] = module.text;
    Role role;
    role.name = pes > 1 ? fmt::format("{}_{}", inst.name, p) : inst.name;
    role.what = fmt::format("{}: PE {} of {}", inst.title, p + 1, pes);
    role.runs = {{inst.rect.x + p, inst.rect.y, 1, 1, 1}};
    ModuleUse use{file->second, "kernel", {}, {}};
    add_streams(*inst.region, share, in_colors, out_colors, use);
    add_constants(inst, share, role, use);
    use.parameters.push_back({"send_control", pes > 1 ? "true" : "false"});
    use.parameters.push_back({"control", pes > 1 ? turn_control(p, pes) : "0"});
    for (const char* task : {"compute", "start"}) use.needs.push_back({Resource::local_task, task, -1, -1});
    role.modules.push_back(use);
    made.roles.push_back(role);
  }
  return made;
}

}  // namespace cs::mapping

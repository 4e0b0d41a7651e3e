// Allocation and text of roles.
//
//   queues  the deepest free queue first, in the order of the needs: streams of elements come before single
//   results tasks   from id 24 upwards, beyond every routable color; then ids of colors that do not reach the
//   PE, since a
//           color's data task has the same id
//   DSRs    explicit ones are numbered in the kernels (0 and 1, and 6 and 7 for control); everything else is
//   the CSL compiler's
#include "compiler/mapping/roles.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

int deepest_free(const std::vector<int>& depths, const std::set<int>& used) {
  int best = -1;
  for (int q = 0; q < int(depths.size()); ++q) {
    if (used.count(q) != 0) continue;
    if (best < 0 || depths[size_t(q)] > depths[size_t(best)]) best = q;
  }
  return best;
}

// Ids 29 to 31 belong to the hardware. Below 24 an id is a color too: not one whose wavelets reach this PE.
int next_task(const Machine& machine, const std::set<int>& used, const std::set<int>& colors) {
  constexpr int kLast = 28;
  int first = machine.task_ids.local_first, last = std::min(kLast, machine.task_ids.local_last);
  for (int id = std::max(machine.router.colors, first); id <= last; ++id) {
    if (used.count(id) == 0) return id;
  }
  for (int id = std::min(machine.router.colors - 1, last); id >= first; --id) {
    if (used.count(id) == 0 && colors.count(id) == 0) return id;
  }
  return -1;
}

const char* resource_name(Resource r) {
  switch (r) {
    case Resource::input_queue:
      return "input queues";
    case Resource::output_queue:
      return "output queues";
    case Resource::local_task:
      return "local task ids";
  }
  return "";
}

}  // namespace

bool allocate_role(Role& role, const Machine& machine, Diag& diag) {
  std::set<int> used[3], colors;
  for (const ModuleUse& module : role.modules) {
    for (const Need& need : module.needs) colors.insert(need.color);
  }
  for (ModuleUse& module : role.modules) {
    for (Need& need : module.needs) {
      std::set<int>& taken = used[int(need.kind)];
      need.id = need.kind == Resource::input_queue    ? deepest_free(machine.queues.input_words, taken)
                : need.kind == Resource::output_queue ? deepest_free(machine.queues.output_words, taken)
                                                      : next_task(machine, taken, colors);
      if (need.id < 0) {
        diag.error_at(role.name, fmt::format("needs {} {}, a PE has {}", taken.size() + 1,
                                             resource_name(need.kind), taken.size()));
        return false;
      }
      taken.insert(need.id);
    }
  }
  return true;
}

bool verify_role(const Role& role, const Machine& machine, Diag& diag) {
  size_t before = diag.errors();
  std::set<std::pair<int, int>> ids;
  std::set<std::pair<bool, int>> colors;
  for (const ModuleUse& module : role.modules) {
    for (const Need& need : module.needs) {
      if (!ids.insert({int(need.kind), need.id}).second) {
        diag.error_at(role.name, fmt::format("{} of '{}' is used twice: {}", resource_name(need.kind),
                                             need.name, need.id));
      }
      if (need.kind == Resource::local_task) {
        bool range = need.id >= machine.task_ids.local_first && need.id <= machine.task_ids.local_last;
        if (!range) diag.error_at(role.name, fmt::format("task id {} does not exist", need.id));
        for (const ModuleUse& other : role.modules) {
          for (const Need& n : other.needs) {
            if (n.color == need.id)
              diag.error_at(role.name, fmt::format("task id {} is a color of this PE", need.id));
          }
        }
        continue;
      }
      bool output = need.kind == Resource::output_queue;
      size_t queues = output ? machine.queues.output_words.size() : machine.queues.input_words.size();
      if (need.id < 0 || size_t(need.id) >= queues) {
        diag.error_at(role.name, fmt::format("queue {} does not exist", need.id));
      }
      if (!colors.insert({output, need.color}).second) {
        diag.error_at(role.name, fmt::format("color {} has two queues", need.color));
      }
    }
  }
  return diag.errors() == before;
}

std::string role_text(const Role& role) {
  std::string out = fmt::format("// {}\n\n", role.what);
  for (const Buffer& b : role.buffers) {
    if (!b.comment.empty()) out += fmt::format("// {}\n", b.comment);
    out += fmt::format("var {0}: [{1}]{3}{2} = @zeros([{1}]{3});\n", b.name, b.elements,
                       b.aligned ? " align(8)" : "", b.type);
    if (!b.symbol.empty()) out += fmt::format("var {0}_ptr: [*]{1} = &{0};\n", b.name, b.type);
  }
  if (role.needs_no_epilogue) out += "\nfn no_epilogue() void {}\n";
  for (const ModuleUse& module : role.modules) {
    out += fmt::format("\nconst {} = @import_module(\"{}\", .{{\n", module.alias, module.file);
    for (const Parameter& p : module.parameters) out += fmt::format("  .{} = {},\n", p.name, p.value);
    for (const Need& need : module.needs) {
      if (need.kind == Resource::local_task) {
        out += fmt::format("  .{}_id = @get_local_task_id({}),\n", need.name, need.id);
        continue;
      }
      out += fmt::format("  .{0}_color = @get_color({1}), .{0}_queue = @get_{2}_queue({3}),\n", need.name,
                         need.color, need.kind == Resource::input_queue ? "input" : "output", need.id);
    }
    out += "});\n";
  }
  std::string exports;
  for (const Buffer& b : role.buffers) {
    if (!b.symbol.empty()) exports += fmt::format("  @export_symbol({}_ptr, \"{}\");\n", b.name, b.symbol);
  }
  if (!exports.empty()) out += "\ncomptime {\n" + exports + "}\n";
  return out;
}

}  // namespace cs::mapping

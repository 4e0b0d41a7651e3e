// Own machine -> -m -> --set -> compared with the own one -> verified.
#include "tools/cs-sim/run_machine.h"

#include <fmt/format.h>

#include "runtime/machine/differences.h"

namespace cs {

std::optional<Machine> machine_to_run_on(const SimOptions& o, const Program& p, Diag& diag) {
  const auto own = program_machine(p, diag);
  auto machine = own && !o.machine.empty() ? load_machine(o.machine, diag) : own;
  if (!machine) return std::nullopt;
  for (const std::string& set : o.set) set_machine_value(*machine, set, diag);
  if (!diag.ok()) return std::nullopt;
  const auto differences = machine_differences(*own, *machine);
  if (differences.empty()) return machine;
  if (!o.on_other_machine) {
    diag.error_at(p.name,
                  "was compiled for another machine: " + differences_text(differences, "there", "here"),
                  "compile it for this machine, run it without -m and --set, or add --on-other-machine");
    return std::nullopt;
  }
  if (!verify(p, *machine, diag)) {
    diag.error_at(
        p.name,
        "cannot run on this machine: " + differences_text(differences, "where it was compiled", "here"),
        "compile it for this machine");
    return std::nullopt;
  }
  return machine;
}

bool load_to_run(const SimOptions& o, MappedProgram& loaded, Machine& machine, Diag& diag) {
  auto program = map_program(o.program, *map_weights_from_name(o.mmap_weights), diag);
  if (!program) return false;
  loaded = std::move(*program);
  auto its = machine_to_run_on(o, loaded.program, diag);
  if (!its) return false;
  machine = std::move(*its);
  return true;
}

}  // namespace cs

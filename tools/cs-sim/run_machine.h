// Which machine a run is on: the Program's own, or another one that was asked for.
#pragma once

#include <optional>

#include "runtime/program/mapped_program.h"
#include "tools/cs-sim/options.h"

namespace cs {

// The Program's machine, changed by -m and --set. What differs from the Program's is an error that names
// every key with both values, unless --on-other-machine; then the Program is verified against that machine.
std::optional<Machine> machine_to_run_on(const SimOptions&, const Program&, Diag&);

// The Program to run, and its machine.
bool load_to_run(const SimOptions&, MappedProgram&, Machine&, Diag&);

}  // namespace cs

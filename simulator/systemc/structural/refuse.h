// What the structural model does not have is refused by name, never left out in silence.
#pragma once

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

namespace cs::sim::structural {

inline constexpr int kMostElements = 4096;  // PEs with routes or programs

// False, with a diagnostic that names what is missing.
bool accepts(const Program&, const Machine&, Diag&);

}  // namespace cs::sim::structural

// The colors whose routes tile code may change, so that their lanes must be there although no route of the Program uses
// them.
#pragma once

#include <cstdint>

#include "runtime/isa/isa.h"
#include "runtime/machine/machine.h"

namespace cs::sim {

// A bit per color. A literal in the range of mapped registers names a color too; where the address is computed, or a
// register is added to it, any color may be meant.
uint32_t routes_written(const isa::Inst&, const Machine&);

}  // namespace cs::sim

// Cycles of scalar instructions and DSR loads (docs/timing.md §6), for the engine and for walks over tile
// code.
#pragma once

#include <algorithm>

#include "runtime/isa/isa.h"
#include "runtime/machine/machine.h"

namespace cs::isa {

struct ScalarCycles {
  int next = 1;       // from issue until the following instruction may issue; of jumps it is not this
  int result = 1;     // from issue until the result may be used
  int condition = 0;  // of conditional jumps: beyond the result of what they test
};

// By how much a conditional jump issues later than another instruction that reads the same result.
inline int condition_wait(const Machine::Core& core) {
  return std::max(0, core.condition_cycles - core.result_cycles);
}

// Vectors have cycles of their own; of theirs only `next` counts.
ScalarCycles scalar_cycles(const Inst&, const Machine::Core&);

}  // namespace cs::isa

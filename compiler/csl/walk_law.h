// Cycles of scalar instructions by their class (docs/timing.md §6).
#pragma once

#include <algorithm>

#include "runtime/isa/isa.h"
#include "runtime/machine/machine.h"

namespace cs::csl {

inline int walk_divide_cycles(isa::Type type, const Machine::Core& core) {
  return std::max(1, type == isa::Type::f32   ? core.fp32_divide_cycles
                     : type == isa::Type::f16 ? core.fp16_divide_cycles
                                              : core.int_divide_cycles);
}

// From issue until the result may be used.
inline int walk_latency(const isa::Row& row, const Machine::Core& core) {
  switch (row.cost) {
    case isa::Cost::fp:
      return std::max(1, core.fp_result_cycles);
    case isa::Cost::load:
      return std::max(1, core.load_result_cycles);
    case isa::Cost::divide:
      return walk_divide_cycles(row.type, core);
    default:
      return std::max(1, core.result_cycles);
  }
}

}  // namespace cs::csl

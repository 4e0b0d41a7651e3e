// Registers that loops count in, and between which values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/csl/mir_flow.h"

namespace cs::csl::mir {

// Whenever a loop's first line is reached, low <= reg <= high; 0 <= low, high <= 32767.
struct Bounds {
  int32_t reg = -1, low = 0, high = 0;
};

// Of registers that one line of every trip adds a literal to, where the jump back compares with a literal.
// `start`: the value of a register when the loop is entered, if it is known.
std::vector<Bounds> find_bounds(const MirFunction&, const Code&, const Loop&,
                                const std::function<std::optional<int32_t>(int32_t reg)>& start);

}  // namespace cs::csl::mir

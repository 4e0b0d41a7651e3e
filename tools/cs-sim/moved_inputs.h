// Inputs that begin where --input-offset says, to see what their alignment is worth.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "runtime/host/array_view.h"
#include "tools/cs-sim/options.h"

namespace cs {

struct MovedInputs {
  std::vector<ArrayView> views;            // of the arrays, or of what was moved
  std::deque<std::vector<uint64_t>> moved;  // words of 8 bytes, so that their addresses are known
};
// Errors name what --input-offset says. The arrays must outlive the views.
std::optional<MovedInputs> move_inputs(const SimOptions&, const std::vector<NamedArray>&, Diag&);

}  // namespace cs

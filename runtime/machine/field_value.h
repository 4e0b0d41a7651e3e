// A field of a machine by its key in the machine file, as a number to compare: for what says which fields it needs.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/machine/machine.h"

namespace cs {

// "router.switch_positions". A switch is 0 or 1, a list as many as it has; "simd_width.fmacs" is 1 if it is not listed.
// Nothing: no machine has such a field.
std::optional<double> field_value(const Machine&, std::string_view key);

}  // namespace cs

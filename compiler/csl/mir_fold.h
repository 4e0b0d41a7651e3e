// Scalar integer instructions on known operands.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/isa/isa.h"

namespace cs::csl::mir {

// A literal of a width as the value that it stands for: 16 bits are 0 … 65535, 32 bits any int32_t.
inline int32_t normal(int32_t v, bool wide) { return wide ? v : int32_t(uint16_t(v)); }
// The result, normal in the width of the destination; nullopt for what is not worked out here. `args` are the
// operands behind the destination.
std::optional<int32_t> fold(isa::Op, const std::array<int32_t, 3>& args);

// The same value by an instruction that takes less time, if the second source is `by`: shifts and masks for products
// and divisions. False if there is none.
bool make_cheaper(isa::Inst&, int32_t by);

}  // namespace cs::csl::mir

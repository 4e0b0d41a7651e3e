// Why a program stops itself: the literal of the instruction `trap`.
#pragma once

#include <cstdint>

namespace cs::isa {

constexpr int32_t kTrapAssertion = 0, kTrapUnreachable = 1, kTrapIndex = 2;

// The fault's name, and what it says.
constexpr const char* trap_fault(int32_t literal) { return literal == kTrapIndex ? "out-of-bounds" : "assertion"; }
constexpr const char* trap_text(int32_t literal) {
  return literal == kTrapIndex         ? "an index is outside of its array"
         : literal == kTrapUnreachable ? "unreachable code was reached"
                                       : "an assertion failed";
}

}  // namespace cs::isa

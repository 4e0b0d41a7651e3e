// Forms that begin with the bits of the argument, and so hold for all of its exponents: reciprocals, roots,
// logarithms. Zeros, infinities, NaN and negative numbers give what they should; no masks are needed where
// the first estimate of them is already an infinity, a zero or NaN. Numbers below 2^-126 count as 0 or have
// that exponent.
#pragma once

#include "compiler/autogen/vector_program.h"

namespace cs::autogen {

// 1 / d. `normal`: |d| is at least kLeastNormal, which takes fewer instructions.
inline constexpr double kLeastNormal = 0x1p-125;
int general_reciprocal(VectorProgram&, int d, bool normal);

// `negative`: x can be less than 0.
int square_root(VectorProgram&, int x, bool negative);
int inverse_root(VectorProgram&, int x, bool negative);  // 1 / sqrt x
int logarithm(VectorProgram&, int x, bool negative);

}  // namespace cs::autogen

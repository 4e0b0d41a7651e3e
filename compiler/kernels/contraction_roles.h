// Roles and constants of contractions (contraction.cpp).
#pragma once

#include <vector>

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// Rows of a column of weights with those that fill it up, so that the next one begins in a bank in which the sums,
// which are read with it, do not begin.
inline int column_rows(const Work& work, int rows) {
  const int multiple = work.native ? 4 : 2;
  return (rows + multiple - 1) / multiple * multiple;
}

// First, middle and last columns; PEs of the last column differ by their turn, those of the last row by their
// extent.
void contraction_roles(const Choice&, const Setting&, InstanceRoles&);
// The rectangle falls into at most four parts with equal extents (ragged last row and column); the bias lives
// in the first column, constants of an epilogue in the last.
std::vector<PackedPart> pack_contraction(const Choice&, const Cut&);

}  // namespace cs::kernels

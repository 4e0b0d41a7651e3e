// How a kernel's work is cut over its PEs: parts over the rows and over the columns of a rectangle, and how much of the
// work is in the largest of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::kernels {

struct Choice;
struct Cut;

// The work as a plane: of a product outputs by inputs; of a region a row, the elements of its result; of what else is
// streamed a row too, the elements of an operand; of operands on the PEs the result as a matrix. The last parts may be
// smaller, or empty.
struct Blocking {
  int64_t rows = 1, columns = 1;  // of the plane
  int parts_down = 1, parts_across = 1;
  int64_t tile_rows = 1, tile_columns = 1;  // of the largest part
  bool operator==(const Blocking&) const = default;
};
Blocking blocking(const Choice&, const Cut&);
// The four numbers: "5 x 9 parts of 4 x 88".
std::string blocking_text(const Blocking&);

// Rows and columns of the plane that the PE in this column and row of the rectangle has: every element of the plane is
// in one piece of one PE. Parts of an axis inside others are several pieces.
struct Piece {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  bool operator==(const Piece&) const = default;
};
std::vector<Piece> pieces(const Choice&, const Cut&, Coord pe);

}  // namespace cs::kernels

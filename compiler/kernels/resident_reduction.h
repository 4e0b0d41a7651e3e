// The resident form of reductions (reduction.cpp), and the line of PEs along which other kernels add up too.
#pragma once

#include "compiler/kernels/choice.h"

namespace cs::kernels {

// Every PE reduces its rows or pieces of rows; pieces meet along a line of PEs (reduce.csl).
ResidentText resident_reduction(const Choice&, const Setting&, ResidentText alone);

// What the text of a PE calls the line: whether the PE is its first one, and the function that reduces along
// it.
struct LineNames {
  const char* root = "true";
  const char* reduce = "nothing";
};
// Along the cut's line the first words of y meet on its first PE, the westernmost of each row of the
// rectangle or, `down`, the northernmost of each column: layout, tile, parameters and import. A line of one
// PE has none.
LineNames add_line(const Setting&, bool down, int words, bool maximum, ResidentText&);
// Along rows of the rectangle: functions `sum_of_line` and `largest_of_line`, which give every PE of a row what the
// numbers of all of them make.
void add_numbers_of_line(const Setting&, ResidentText&);
// Rows of which every PE has a piece (resident_rows.cpp).
const Kind* resident_rows_kind();

}  // namespace cs::kernels

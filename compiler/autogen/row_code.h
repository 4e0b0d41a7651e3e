// Code of a group of rows (row_group.h): one CSL module for one PE of a row of PEs, with a function for one
// row. How rows arrive and leave is row_buffers.csl, as for the library's softmax and layer norm.
//
// Parameters of the module: rows, x0, x1 · x_color, x_queue · y_color, y_queue · send_control, control ·
// compute_id, start_id · c<j>: [*]f32, constants of n elements in the order of RowGroup::constants().
#pragma once

#include <string>

#include "compiler/autogen/row_group.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

struct RowSpec {
  std::string title;      // "Softmax_3: reduce_max+sub+exp+reduce_sum+div to f32[1, 6, 512]"
  std::string sharding;   // "3072 elements on 6 PEs, at most 512 each"
  bool in_place = false;  // rows leave together when all are done: PEs send in turns
  bool pieces = false;    // of rows that several PEs share; what is reduced is then so by functions of all of them
};

std::string row_module(const RowGroup&, const RowSpec&, const Machine&);
// The code in numbers, with the result going to the fabric.
kernels::RowCost row_cost(const RowGroup&, const Machine&);
// A PE holds one row and what its code needs.
bool row_fits(const RowGroup&, const Machine&);

}  // namespace cs::autogen

// DTG for sums, means and maxima of the last dimensions over a row of PEs: one module per role (first,
// middle, last column), with extents, accumulators and branches on the role decided.
//
// A slice is reduced while it arrives, nothing of it is stored; partial results go from west to east.
// Parameters of the module: x_color, x_queue · west_color, west_queue (not in the first column) · east_color,
// east_queue · compute_id, start_id (as in the library's row_reduce.csl).
#pragma once

#include <string>

namespace cs::autogen {

struct ReductionSpec {
  std::string title, sharding;
  int n = 1;  // elements of a row on this PE
  bool maximum = false;
  double scale = 1;  // of the result
  bool first = true, last = true;
};

std::string reduction_module(const ReductionSpec&);

// The same of several rows that lie in the memory of the PE. Parameters: x: [*]f32 (rows * n), y: [*]f32 (rows), root:
// bool, along_line: fn() void, which reduces y along a line of PEs (as in the library's reduce_rows.csl). Exports fn
// run() void.
std::string resident_reduction_module(const ReductionSpec&, int rows);

}  // namespace cs::autogen

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

}  // namespace cs::autogen

// The ranges that the nodes of an expression can have, from its constants and functions.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "runtime/ops/expr.h"

namespace cs::autogen {

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool attained = false;  // some element of the slice is `high`
};
// Of every node; operands can be anything. `largest_of`: operands that are the largest element of a node's
// slice, -1 for others.
std::vector<Range> ranges_of(const ops::Expr&, std::span<const int> largest_of = {});

}  // namespace cs::autogen

// Operators that no rectangle of PEs holds, as several that one does: rewritings of one node each.
//
// A PE computes whole elements of a result, so it needs all that goes into one of them. Where that is more
// than a PE has memory for, the dimension behind it is cut into parts: every part for itself, then what the
// parts gave. Each returns false if the node has no such form; the graph is then as it was.
#pragma once

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"

namespace cs::passes {

// Part `size` of an extent, `parts` of them; the last one may be longer than what is left.
struct DimensionCut {
  int64_t parts = 1, size = 1;
};
// Near the root of the extent (then neither the parts nor their number is large), a divisor if there is one
// near it, at most `most`; `least` at least.
DimensionCut cut_dimension(int64_t extent, int64_t most, int64_t least = 2);

// `words`: of a PE's memory, for one part of one operand.
bool split_reduction(graph::Graph&, graph::NodeId, int64_t words, Diag&);  // reduce_*
bool split_search(graph::Graph&, graph::NodeId, int64_t words, Diag&);     // arg_max, arg_min, top_k
bool split_scan(graph::Graph&, graph::NodeId, int64_t words, Diag&);       // cum_sum
bool split_convolution(graph::Graph&, graph::NodeId, int64_t words, Diag&);
bool split_product(graph::Graph&, graph::NodeId, int64_t words, Diag&);  // matmul

}  // namespace cs::passes

// Constant folding of one node: its results become constants of the graph.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

// Every operand constant, and results of at most this many bytes, or no more than the operands have.
inline constexpr int64_t kFoldBytes = int64_t(1) << 28;
bool can_fold(const Graph&, NodeId);
// Evaluates on the host, replaces the uses of the results, erases the node. False with a diagnostic if it
// fails.
bool fold_node(Graph&, NodeId, Diag&);
// The constant behind a value, folding the nodes that lead to it if need be; nullptr if it is not constant.
const ops::Tensor* fold_value(Graph&, ValueId, Diag&);

}  // namespace cs::graph

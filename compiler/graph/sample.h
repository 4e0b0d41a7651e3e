// The sample dimension through a graph: which dimension of every value counts samples, and proof that none
// mix.
//
// A graph is held for one sample and run for many, so every node must compute each sample from that sample
// alone. propagate_samples() starts at the inputs' sample_dim, follows every node by its row's kind, and
// reports a node that would mix samples (a reduction or softmax along the dimension, a product over it, a
// reshape that hides it).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::graph {

// Asked before a node is judged, and again with `mixes` if it mixes samples: true if it was made one over the
// whole batch (whole_batch.h). Such nodes may stand in the graph already, as in a text that is read back.
using OverBatch = std::function<bool(NodeId, bool mixes)>;

bool propagate_samples(Graph&, Diag&, const OverBatch& over_batch = {});

// An equal part of a value: consecutive elements of one dimension.
struct Share {
  ops::TensorType type;  // of the share
  int dim = -1;          // that is cut; -1: it is the whole value
};
// What the node makes of shares of its operands (one for each of its inputs, absent ones too): the same share of
// every result, whatever their number. Nothing if a result depends on more than one share, or if that is not known:
// of views, and of operators that are judged by no loops.
std::optional<std::vector<Share>> results_of_shares(const Graph&, NodeId, std::span<const Share> operands);

}  // namespace cs::graph

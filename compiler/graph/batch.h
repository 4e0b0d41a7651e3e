// A graph of one sample as the graph of a batch: the samples lie along their dimension, which then is one
// like any other. Training needs it, since a loss over a batch mixes samples.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

// Every dimension that counts samples (propagate_samples) becomes `samples` times as long, and counts none
// any more. False, with an error at the node, where an operator states a shape of its own.
bool make_batch(Graph&, int64_t samples, Diag&);

}  // namespace cs::graph

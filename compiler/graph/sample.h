// The sample dimension through a graph: which dimension of every value counts samples, and proof that none
// mix.
//
// A graph is held for one sample and run for many, so every node must compute each sample from that sample
// alone. propagate_samples() starts at the inputs' sample_dim, follows every node by its row's kind, and
// reports a node that would mix samples (a reduction or softmax along the dimension, a product over it, a
// reshape that hides it).
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

bool propagate_samples(Graph&, Diag&);

}  // namespace cs::graph

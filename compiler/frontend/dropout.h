// Dropout in a step of training: which elements go follows from the number of the batch, so no state is
// needed, and the host drops the same ones (runtime/ops, row `dropout_mask`).
#pragma once

#include "compiler/graph/graph.h"

namespace cs::frontend {

// Every `dropout` becomes a product with a mask of its own, seeded from `seed` on. `trains`: a number that is
// 0 in steps that only evaluate, which drop nothing; invalid: all steps train.
bool expand_dropout(graph::Graph&, int64_t seed, graph::ValueId trains, Diag&);
bool has_dropout(const graph::Graph&);

}  // namespace cs::frontend

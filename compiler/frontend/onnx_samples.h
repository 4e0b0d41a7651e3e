// How an imported graph depends on the number of samples.
//
// A symbolic batch is compiled for one sample, but the model says what it computes for any number of them,
// and may use that number: in shapes (`Reshape` to `[batch, -1]`, zeros for a state), or as a value. So the
// model is imported for one, two and three samples, and the graphs are compared:
//
//   attributes    that follow the number are written so that they say it of any number: a reshape's -1
//   constants     made for every sample alike keep one sample, and the dimension is marked
//   all else      that differs needs the number as a value: an error
//
// What the operators then do with the samples is judged by graph::propagate_samples(); that its types are the
// imported ones is checked here, so nothing is judged that the model does not say.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::frontend {

// Folds constants, among them what is computed from shapes, so that the graphs differ where the number is
// used.
bool fold_small(graph::Graph&, Diag&);
// `two` and `three` are the same model for two and three samples.
bool settle_samples(graph::Graph& one, const graph::Graph& two, const graph::Graph& three, Diag&);
// After propagate_samples(one).
bool check_samples(const graph::Graph& one, const graph::Graph& two, Diag&);

}  // namespace cs::frontend

// How an imported graph depends on the number of samples.
//
// A symbolic batch is compiled for one sample, but the model says what it computes for any number of them,
// and may use that number: in shapes (`Reshape` to `[batch, -1]`, zeros for a state), or as a value. So the
// model is imported for one, two and three samples, and the graphs are compared:
//
//   attributes    that follow the number are written so that they say it of any number: a reshape's -1
//   constants     made for every sample alike keep one sample, and the dimension is marked
//   all else      that differs needs the number as a value
//
// What the operators then do with the samples is judged by graph::propagate_samples(); that its types are the
// imported ones is checked here, so nothing is judged that the model does not say. A node that needs the
// number as a value or mixes samples is computed over the whole batch by the host (graph/whole_batch.h), and
// with it what depends on extents that follow the number.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::frontend {

// `two` and `three` are the same model for two and three samples. Constants are folded, among them what is
// computed from shapes. False with the first node that does not keep samples apart.
bool settle_samples(graph::Graph& one, graph::Graph& two, graph::Graph& three, Diag&);
// The same for a model that mixes samples; false if it cannot be computed over the whole batch either.
bool settle_over_batch(graph::Graph& one, graph::Graph& two, graph::Graph& three, Diag&);

}  // namespace cs::frontend

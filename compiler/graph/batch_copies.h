// A batch in several copies of a network beside each other, each with its share of the samples.
//
//   x ─┬─ slice ── network ──┐
//      └─ slice ── network ──┴─ concat ── y
//
// Values travel as one stream from kernel to kernel, so what a step takes grows with the words of a batch;
// copies have streams of their own. Weights are the same values for all: their gradients add up where they
// meet.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

// Like make_batch(), with `copies` of every node whose results depend on the sample; it must divide
// `samples`.
bool make_batch_in_copies(Graph&, int64_t samples, int64_t copies, Diag&);

// So many copies that a copy's largest value has no more elements than the largest weight, which all of them
// wait for in any case: a power of two that divides `samples`, at most kMostBatchCopies. `g` is the graph of
// one sample.
int64_t batch_copies_for(const Graph& g, int64_t samples);
inline constexpr int64_t kMostBatchCopies = 8;

}  // namespace cs::graph

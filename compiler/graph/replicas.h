// A graph that computes a loss of a share of the batch, several times: data parallel replicas beside each
// other.
//
//   x ─┬─ slice ── network ── loss_0      w ─┬─ identity ── network 0
//      └─ slice ── network ── loss_1         └─ identity ── network 1
//
// Unlike batch_copies.h every replica has a loss of its own, and of each weight a name of its own, so that
// its gradient can be asked for.
#pragma once

#include <span>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::graph {

struct Replicas {
  std::vector<ValueId> results;             // of the value that was asked for, in each
  std::vector<std::vector<ValueId>> roots;  // of each root, what each replica has in its place
};

// What depends on inputs with samples, or on `roots` (constants), is there `replicas` times; inputs with a
// dimension take `replicas` times as many samples along the first one. `result` is one number per replica.
// Errors name the value.
bool replicate(Graph&, int64_t replicas, ValueId result, std::span<const ValueId> roots, Replicas&, Diag&);

}  // namespace cs::graph

// A loss as a few kernels in a row, so that many PEs share a sum over everything, which else one PE makes.
//
//   heads     what comes before a sum over everything, and the sums of its parts: cut over many PEs
//   tail      the sums of these parts and what follows from them alone, on one PE
//   heads     what needs a tail and a whole tensor: a gradient that is divided by a sum of counts
//
// Only partial sums and results of tails go from kernel to kernel. Everything else that a kernel needs it
// computes from the loss's operands, also where another kernel does so too. Sums over a dimension of classes
// stay within their kernel, whose PEs have whole rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/group_cost.h"

namespace cs::passes {

struct LossPiece {
  std::vector<graph::NodeId> nodes;  // topological order, views left out
  int stage = 0;                     // pieces of one stage need nothing of each other; all need earlier ones
  int64_t parts = 0;                 // sums of so many parts are its results; 0: other results
};

// Puts the pieces in the place of the loss, in the order of their stages, all nodes named as parts of it and
// assigned to generated kernels. Nothing, the graph as `expand` leaves it, where no sum of it goes over
// everything or the graph refuses a part, which is an error. `words`: of a PE's memory, for a part of a sum.
std::optional<std::vector<LossPiece>> cut_loss(graph::Graph&, graph::NodeId, int64_t words,
                                               const std::string& reason, Diag&);

// Cycles from the first word into the first piece to the last one out of the last, by estimate; infinite if
// a piece has no kernel.
double latency_of(const graph::Graph&, const std::vector<LossPiece>&, GroupCosts&);

}  // namespace cs::passes

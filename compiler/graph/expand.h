// Operators replaced by the primitives that their rows of the table decompose them into.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "compiler/graph/graph.h"

namespace cs::graph {

// A node for every step, named after `like` and with its origin. `values` holds those that the steps name and
// takes their results. Constants among the steps become constants of the graph.
bool add_steps(Graph&, const Node& like, std::span<const ops::DecompositionStep>,
               std::map<std::string, ValueId>& values, Diag&);
// Adds the steps of the node's row in front of it and gives its result to the last step. The node is erased.
// False, with an error, where the row cannot be decomposed for these types.
bool expand(Graph&, NodeId, Diag&);
// Compounds among the steps too.
bool expand_all(Graph&, NodeId, Diag&);
// The node alone in `trial`, which is empty: operands that are not constant are inputs of the same types.
std::optional<NodeId> alone(const Graph&, NodeId, Graph& trial, Diag&);

}  // namespace cs::graph

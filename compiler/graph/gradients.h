// Reverse mode on the graph: nodes for the gradients of values are appended to it.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::graph {

// Given values `output` and the gradient that comes from above for each (`upstream`, of the same type),
// `gradients` become those of the wanted values, in their order: the sum over all users of a value, made
// once. What the outputs do not depend on has a gradient of zeros. False, with an error at the node, where an
// operator on the way has none; nothing is appended behind it then.
//
// A loss has one node for its backward pass (ops::gradient_row), other operators have the steps of
// ops::gradient_steps.
bool add_gradients(Graph&, std::span<const std::pair<ValueId, ValueId>> outputs,
                   std::span<const ValueId> wanted, std::vector<ValueId>& gradients, Diag&);

}  // namespace cs::graph

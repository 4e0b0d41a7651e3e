// What a graph computes, by the reference functions of its operators: one sample.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/graph/graph.h"

namespace cs::graph {

// Outputs by name, of inputs by name with the types of the graph. Nothing, with an error, if a row cannot be evaluated.
std::optional<std::map<std::string, ops::Tensor>> evaluate_graph(const Graph&,
                                                                 const std::map<std::string, ops::Tensor>& inputs,
                                                                 Diag&);

}  // namespace cs::graph

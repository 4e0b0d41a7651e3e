// Recurrences step by step: which of them, and the rewriting itself.
#pragma once

#include <map>
#include <string>

#include "compiler/graph/graph.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

// Puts the steps of a recurrence in its place; dead nodes and samples are left to the caller.
bool unroll_node(graph::Graph&, graph::NodeId, Diag&);

// The recurrences, by name, that make the network faster step by step, and why.
std::map<std::string, std::string> worth_unrolling(const graph::Graph&, const PassContext&);

}  // namespace cs::passes

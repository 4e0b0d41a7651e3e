// Inputs and constants that are said not to change (`static: true`): a graph whose runs go on from each other
// may not write one.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

// An error for each static input that is the state of a run (State): it names the node that makes its next
// value. Where that is allowed, such an input is static no more.
bool check_static_inputs(Graph&, bool allowed, Diag&);

}  // namespace cs::graph

// What becomes of losses and of their backward passes: one generated kernel each where `use_autogen` asks for
// it, else the primitives of their rows, each a kernel of its own.
#pragma once

#include "compiler/passes/passes.h"

namespace cs::passes {

// Every loss of the graph that has no origin yet. False, with an error, where one kernel was asked for, is
// not to be had, and that is an error (AutogenFailure).
bool lower_losses(graph::Graph&, PassContext&);

// A loss that is one kernel, or a primitive of one that is not: it joins no other kernel.
bool is_of_loss(const graph::Graph&, graph::NodeId);

}  // namespace cs::passes

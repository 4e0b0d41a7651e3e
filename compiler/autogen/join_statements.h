// Statements of a loop program that only make an operand of the next one become a part of it: one expression
// instead of a walk over a temporary each.
#pragma once

#include "runtime/ops/loops.h"

namespace cs::autogen {

// Joins temporaries in floating point that one element-by-element statement makes, and one other reads at the
// same element; and those that hold one constant. Temporaries that nobody reads any more are gone.
void join_statements(ops::LoopProgram&);

}  // namespace cs::autogen

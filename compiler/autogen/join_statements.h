// Statements of a loop program that only make an operand of the next one become a part of it: one expression
// instead of a walk over a temporary each.
#pragma once

#include "runtime/ops/loops.h"

namespace cs::autogen {

// Joins temporaries in floating point that one element-by-element statement makes, and one other reads at the
// same element; and those that hold one constant. Temporaries that nobody reads any more are gone.
void join_statements(ops::LoopProgram&);
// The same for regions on the PEs, whose memory is short and whose elements are walked all at once: truth
// values of comparisons join what selects by them, everyone who does; sums stay what they are, since a sum of
// what a buffer holds is one instruction for all rows. Buffers keep their numbers.
void join_in_memory(ops::LoopProgram&);
// A statement over so many elements in one axis goes over them along these.
void split_like(ops::LoopStatement&, const std::vector<int64_t>& extents);
// Temporaries of one size use one buffer, one after another.
void share_temporaries(ops::LoopProgram&);

}  // namespace cs::autogen

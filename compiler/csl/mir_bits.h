// The parts of pass `bits`.
#pragma once

#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {

// Pairs of which only one half is wanted become registers of 16 bits.
bool narrow_pairs(MirFunction&, Code&);
// Within blocks: pairs put together from known halves, and selections of a bit.
bool join_bits(MirFunction&, Code&);

}  // namespace cs::csl::mir

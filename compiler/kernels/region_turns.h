// How the rows of a region take turns in sending their results on, and which of them hold what they send.
#pragma once

#include <cstdint>

#include "compiler/autogen/region.h"

namespace cs::kernels {

// Turns of a sample of all rows, of all results.
double collector_turns(const autogen::Region&, const autogen::RegionCut&);

// Words of a turn that the collectors of this rectangle hold before their turn comes (block_collector.csl),
// where the many PEs of a row send few words each; 0: words pass (row_collector.csl).
int64_t held_block(const autogen::Region&, const autogen::RegionCut&);

// Cycles of a turn beyond its words: `ready` where all are there when it comes.
double turn_cycles(const autogen::Region&, const autogen::RegionCut&, double ready);

}  // namespace cs::kernels

// Filters on the way to a core: what of a stream the router rejects, so that the core never sees it.
//
// A counter filter lets through the first `keep` of every `period` words (docs/timing.md §4, filters). One
// that counts in the period of a PE's runs leaves nothing, or little, between them: what is rejected takes
// neither the core's cycles nor room in its queue, and nobody waits for the core while words of others pass.
#pragma once

#include <cstdint>

#include "compiler/autogen/runs.h"

namespace cs::autogen {

inline constexpr int64_t kMostCounted = 65536;  // words of a period: a counter has 16 bits

struct StreamFilter {
  uint32_t first = 0;             // the counter as the stream begins
  uint32_t keep = 0, period = 0;  // period 0: no filter
  bool used() const { return period > 0; }
};

// The filter that leaves the fewest gaps: a gap costs a core some 80 cycles, a word that it passes over one.
// `walk` becomes that of what the filter lets through. The counter goes on from one sample to the next, so the
// stream is a multiple of the period: that of a loop of the walk, the stream as a whole, or an equal part of one
// that is longer than a counter counts. None if there is no such period.
StreamFilter filter_walk(Walk& walk);

}  // namespace cs::autogen

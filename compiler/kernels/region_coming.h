// How the streams of a region's operands come to its PEs, and in how many cycles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/autogen/region.h"
#include "compiler/autogen/region_cut.h"
#include "compiler/autogen/runs.h"

namespace cs::kernels {

// How the streams of several operands come: by the same links, in a row of PEs, or each by a column of
// feeders of its own.
enum class Coming : uint8_t { together, apart };
inline Coming coming_to(const autogen::RegionCut& cut) { return cut.h() > 1 ? Coming::apart : Coming::together; }

// Cycles that pass from the first word that is kept of an operand to the last one: streams that come together
// take turns.
inline double cycles_within_span(const autogen::Region& r, Coming coming, const autogen::Runs& kept) {
  double all = 0;
  if (kept.empty()) return 0;
  const int64_t span = kept.last() - kept.first() + 1;
  for (int b : r.operand_buffer) {
    const double words = double(std::min(span, r.elements(b)));
    all = coming == Coming::together ? all + words : std::max(all, words);
  }
  return all;
}

// Cycles that pass while all words of the operands come.
inline double cycles_in(const autogen::Region& r, Coming coming) {
  if (coming == Coming::together) return double(r.words_in());
  int64_t most = 0;
  for (int b : r.operand_buffer) most = std::max(most, r.elements(b));
  return double(most);
}

}  // namespace cs::kernels

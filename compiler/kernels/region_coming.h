// How the streams of a region's operands come to its PEs, and in how many cycles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/autogen/region_cut.h"
#include "compiler/autogen/runs.h"
#include "runtime/machine/machine.h"

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
  for (size_t i = 0; i < r.operands.size(); ++i) {
    const double words = double(std::min(span, r.elements(r.operand_buffer[i]))) / double(r.stays_for(i));
    all = coming == Coming::together ? all + words : std::max(all, words);
  }
  return all;
}

// Cycles that pass while all words of the operands come, in a round.
inline double cycles_in(const autogen::Region& r, Coming coming) {
  if (coming == Coming::together) return double(r.words_in());
  double most = 0;
  for (size_t i = 0; i < r.operands.size(); ++i) most = std::max(most, r.words_a_round(i));
  return most;
}

// Words of what stays for several rounds, and comes before the first one.
inline double staying_words(const autogen::Region& r) {
  int64_t most = 0;
  for (size_t i = 0; i < r.operands.size(); ++i)
    if (r.stays_for(i) > 1) most = std::max(most, r.elements(r.operand_buffer[i]));
  return double(most);
}

// Words that are on their way from the column of feeders to a PE which does not take them: in the feeder's
// queues, two routers and its own queue, each the deepest that the machine has (mapping/roles.cpp).
inline int64_t held_on_the_way(const Machine& machine) {
  const auto deepest = [](const std::vector<int>& words) {
    return *std::max_element(words.begin(), words.end());
  };
  const Machine::Queues& q = machine.queues;
  return 2 * deepest(q.input_words) + deepest(q.output_words) + 2 * machine.router.lane_depth_wavelets;
}

// Cycles by which the streams of all operands go on while the PEs of a row compute: where the first run of
// the row is held on the way, they stop at the second one. `row`: what passes it, by operand.
inline double come_early(const std::vector<autogen::Runs>& row, const Machine& machine) {
  int64_t least = INT64_MAX;
  for (const autogen::Runs& stream : row) {
    if (stream.empty()) continue;
    const bool held = stream.count() > 1 && stream.run() <= held_on_the_way(machine);
    least = std::min(least, held ? stream.levels[stream.levels.size() - 2].stride : 0);
  }
  return least == INT64_MAX ? 0 : double(least);
}

}  // namespace cs::kernels

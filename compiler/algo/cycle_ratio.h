// The largest ratio of a cycle: what bounds the rate of a system whose events wait for each other.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace cs::algo {

// Event `to` of round r happens no earlier than `delay` after event `from` of round r - tokens.
struct TimedEdge {
  size_t from = 0, to = 0;
  double delay = 0;
  int tokens = 0;
};

struct CycleRatio {
  double ratio = 0;           // the sum of delays over the sum of tokens: the interval between two rounds
  std::vector<size_t> edges;  // of the cycle, in order
};

// What another cycle may take beyond the one that is found, for each of its edges.
inline constexpr double kCycleRatioNear = 0.005;

// Nothing if there is no cycle. Every cycle must have a token (see strong_components for those that have none).
std::optional<CycleRatio> maximum_cycle_ratio(size_t vertices, const std::vector<TimedEdge>&);

}  // namespace cs::algo

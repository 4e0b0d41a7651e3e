// The interval of a network: kernels that wait for each other, as events of a sample that follow those of
// earlier ones.
//
// Every stream has two events, its first word leaves and its last word leaves; every whole kernel (skew.h) a
// third one, it begins to compute. A taker that is not ready holds up its stream for all takers; a kernel
// that is sending computes nothing. So paths that fork and join are circles of events, with as many samples
// under way as buffers between them hold, and the interval is the largest ratio of cycles to samples over all
// circles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/mapping/skew.h"
#include "runtime/machine/machine.h"

namespace cs::mapping {

// Samples that a slack buffer in front of operand `second` of instance `first` holds, beside those that are
// there as instances; or kSentAgain: the operand has a stream of its own, and its samples wait in the host.
using Slack = std::map<std::pair<int, int>, int64_t>;
inline constexpr int64_t kSentAgain = -1;

struct NetworkInterval {
  double cycles = 0;   // from one sample to the next
  double slowest = 0;  // the same of the slowest kernel or stream alone
  int slowest_instance = -1;
  double circle = 0;                       // cycles of the circle that sets the interval
  int64_t samples = 0;                     // under way in it
  std::vector<std::pair<int, int>> waits;  // instance, operand: what is early there, by operand
  std::vector<int> instances;              // that the circle passes
};

// What plans of kernels are made of. Of those by formulas, which are of code as it is written, a PE sends its
// share of a result behind its interval, as fast as it is taken. Those that were walked (refine.cpp) contain
// that share, and no sender waits for words that its taker or the routers on the way have room for.
enum class PlansBy : uint8_t { formulas, walks };
// Instances have plans; `placed` says that they have places too. `late`: results take so many times as long as
// estimated. Nothing if a sample waits for itself.
std::optional<NetworkInterval> network_interval(const Parts&, const Slack&, const Machine&, bool placed,
                                                double late = 1, PlansBy plans = PlansBy::formulas);

}  // namespace cs::mapping

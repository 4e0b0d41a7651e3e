// A trial of a network: some samples of it on the engine, for what no estimate knows. Cycles do not depend on
// who simulates, with how many threads or how fast, and so nothing that is chosen by them does.
#pragma once

#include <optional>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"

namespace cs::api {

inline constexpr int kTrialSamples = 8;
struct Trial {
  double interval = 0, first = 0;  // cycles from one sample to the next, and of the first one
};
// Nothing if the network does not come to its end within so many cycles, or keeps something from sample to sample.
std::optional<Trial> try_out(const Program&, const Weights&, const Machine&, double most_cycles);

}  // namespace cs::api

// A trial of a network: some samples of it on the engine, for what no estimate knows. Cycles do not depend on
// who simulates, with how many threads or how fast, and so nothing that is chosen by them does.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "runtime/host/device.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"

namespace cs::api {

inline constexpr int kTrialSamples = 8;
struct Trial {
  double interval = 0, first = 0;  // cycles from one sample to the next, and of the first one
};

// Trials that were made before. A trial that comes to nothing is a result too.
class TrialRecords {
 public:
  virtual ~TrialRecords() = default;
  enum class From : uint8_t { nowhere, local, remote };
  // Any thread. From nowhere: nobody knows.
  virtual From look_up(const std::string& key, std::optional<Trial>&) = 0;
  virtual void keep(const std::string& key, const std::optional<Trial>&) = 0;
};
// Of everything that a trial depends on: the Program with its weights, the machine, the engine, the limit.
std::string trial_key(const Program&, const Weights&, const Machine&, double most_cycles);

// Some samples on this device, which has loaded the program. Nothing if it does not come to its end; `status` says how
// it ended.
std::optional<Trial> trial_on(Device&, std::span<const uint8_t> weights, const Machine&, double most_cycles,
                              RunStatus* status = nullptr);

// The same of a step of training, over and over again.
std::optional<Trial> try_out_steps(const Program&, const Weights&, const Machine&, double most_cycles);

// Nothing if the network does not come to its end within so many cycles, or keeps something from sample to
// sample. What is in `records` is not simulated; they may be null.
std::optional<Trial> try_out(const Program&, const Weights&, const Machine&, double most_cycles,
                             TrialRecords* records = nullptr);

}  // namespace cs::api

// Inputs are random and seeded; what a network computes does not count.
#include "tools/api/trial.h"

#include <algorithm>

#include "runtime/host/model_run.h"
#include "simulator/engine/engine_device.h"

namespace cs::api {

namespace {

constexpr int kRounds = 4;  // of what takes samples in turn (interval_of)
constexpr uint64_t kSeed = 0;

}  // namespace

std::optional<Trial> try_out(const Program& program, const Weights& weights, const Machine& machine,
                             double most_cycles) {
  const HostPart& host = *program.host;
  if (has_states(host)) return std::nullopt;
  const int samples = std::max(kTrialSamples, kRounds * copies_over_samples(host, machine));
  const std::vector<uint8_t> bytes = weights.bytes();
  Diag ignored;
  sim::EngineDevice device(machine, {});
  if (!device.load(program, bytes, ignored)) return std::nullopt;
  const ModelRunOptions options{.samples = samples, .max_cycles = Cycle(most_cycles)};
  const auto run = run_model(device, bytes, random_inputs(host, 1, kSeed), options, ignored);
  if (!run || run->status.reason != StopReason::condition || !run->interval_cycles) return std::nullopt;
  return Trial{*run->interval_cycles, double(run->sample_end.front())};
}

}  // namespace cs::api

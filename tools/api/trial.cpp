// Inputs are random and seeded; what a network computes does not count.
#include "tools/api/trial.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/host/model_run.h"
#include "runtime/support/files.h"
#include "simulator/engine/engine_device.h"
#include "tools/api/program_key.h"

namespace cs::api {

namespace {

constexpr int kRounds = 4;  // of what takes samples in turn (interval_of)
constexpr uint64_t kSeed = 0;

std::optional<Trial> simulate(const Program& program, const Weights& weights, const Machine& machine,
                              double most_cycles) {
  const std::vector<uint8_t> bytes = weights.bytes();
  Diag ignored;
  sim::EngineDevice device(machine, {});
  return device.load(program, bytes, ignored) ? trial_on(device, bytes, machine, most_cycles) : std::nullopt;
}

}  // namespace

std::optional<Trial> trial_on(Device& device, std::span<const uint8_t> weights, const Machine& machine,
                              double most_cycles, RunStatus* status) {
  const HostPart& host = *device.program().host;
  const int samples = std::max(kTrialSamples, kRounds * copies_over_samples(host, machine));
  const ModelRunOptions options{.samples = samples, .max_cycles = Cycle(most_cycles)};
  Diag ignored;
  const auto run = run_model(device, weights, random_inputs(host, 1, kSeed), options, ignored);
  if (run && status != nullptr) *status = run->status;
  if (!run || run->status.reason != StopReason::condition || !run->interval_cycles) return std::nullopt;
  return Trial{*run->interval_cycles, double(run->sample_end.front())};
}

std::string trial_key(const Program& program, const Weights& weights, const Machine& machine,
                      double most_cycles) {
  KeyText key;
  key.add("format", "wafersmith-trial-key/1");
  key.add("build", build_identity());
  key.add("program", wide_hash_text(program_bytes(program)));
  ContentHash hash;
  weights.read([&](std::string_view bytes) {
    hash.add(bytes);
    return true;
  });
  key.add("weights", hash.wide_text());
  key.add("machine", machine_to_yaml(machine));
  key.add("samples", kTrialSamples);
  key.add("most cycles", fmt::format("{:a}", most_cycles));
  return key.digest();
}

std::optional<Trial> try_out_steps(const Program& program, const Weights& weights, const Machine& machine,
                                   double most_cycles) {
  return simulate(program, weights, machine, most_cycles);
}

std::optional<Trial> try_out(const Program& program, const Weights& weights, const Machine& machine,
                             double most_cycles, TrialRecords* records) {
  if (has_states(*program.host)) return std::nullopt;
  if (records == nullptr) return simulate(program, weights, machine, most_cycles);
  const std::string key = trial_key(program, weights, machine, most_cycles);
  std::optional<Trial> trial;
  if (records->look_up(key, trial) != TrialRecords::From::nowhere) return trial;
  trial = simulate(program, weights, machine, most_cycles);
  records->keep(key, trial);
  return trial;
}

}  // namespace cs::api

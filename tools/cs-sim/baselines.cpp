// For each kernel with a baseline: key = contents of both programs + machine options; cached figures, or two
// child runs.
#include "tools/cs-sim/baselines.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/cs-sim/child.h"
#include "tools/cs-sim/kept_runs.h"

namespace cs {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSamples = "8";

struct Figures {
  double cycles = 0;  // first input wavelet to last output of the first sample
  std::optional<double> interval;
  std::string origin;
};

std::string origin_of(const Json& stats) {
  for (const char* list : {"ops", "kernels"})
    for (const Json& row : stats.value(list, Json::array()))
      if (std::string origin = row.value("origin", ""); !origin.empty()) return origin;
  return "handwritten";
}

class Runner {
 public:
  Runner(const SimOptions& o) : options_(o), kept_(o, o.program + "/baselines/results.json") {}

  std::optional<Figures> figures(const std::string& program, std::string& error) {
    const std::optional<std::string> key = kept_.key_of(program, kSamples);
    if (!key) {
      error = "cannot be read";
      return std::nullopt;
    }
    const Json* known = kept_.find(*key);
    if (known == nullptr || !usable(*known)) {
      const ChildRun run = run_child_sim(options_, program, {"--child", "--iterations", kSamples});
      if (run.exit_code != kOk) {
        error = run.error.substr(0, run.error.find('\n'));
        return std::nullopt;
      }
      known = &kept_.keep(*key, {{"latency_cycles", run.stats.value("latency_cycles", Json())},
                                 {"interval_cycles", run.stats.value("interval_cycles", Json())},
                                 {"origin", origin_of(run.stats)}});
    }
    const Json& row = *known;
    if (!usable(row)) {
      error = "has no latency";
      return std::nullopt;
    }
    Figures f{row["latency_cycles"].get<double>(), {}, row.value("origin", "handwritten")};
    if (row["interval_cycles"].is_number()) f.interval = row["interval_cycles"].get<double>();
    return f;
  }

 private:
  static bool usable(const Json& row) {
    return row.is_object() && row.contains("latency_cycles") && row["latency_cycles"].is_number() &&
           row.contains("interval_cycles") && row["latency_cycles"].get<double>() > 0;
  }
  const SimOptions& options_;
  KeptRuns kept_;
};

}  // namespace

void run_baselines(const SimOptions& o, sim::RunReport& report) {
  Runner runner(o);
  int generated = 0, compared = 0;
  std::string failures;
  for (sim::KernelReport& k : report.kernels) {
    if (k.row.origin != Origin::autogen) continue;
    ++generated;
    const std::string folder = o.program + "/baselines/" + k.row.baseline;
    if (k.row.baseline.empty() || !fs::exists(folder)) continue;
    std::string error;
    const auto self = runner.figures(folder + "/this.csp", error);
    const auto base = self ? runner.figures(folder + "/base.csp", error) : std::nullopt;
    if (!base) {
      failures += fmt::format(" {}: {} {}.", k.row.name, self ? "base" : "this", error);
      continue;
    }
    k.counterpart = sim::Counterpart{origin_from_name(base->origin).value_or(Origin::handwritten),
                                     base->cycles,
                                     self->cycles,
                                     self->cycles / base->cycles,
                                     base->interval,
                                     self->interval};
    ++compared;
  }
  if (generated > compared)
    report.baselines_note = fmt::format(
        "{} of {} generated kernels have no counterpart here (compiled with --no-baselines, or none "
        "exists).{}",
        generated - compared, generated, failures);
}

}  // namespace cs

// For each kernel with a baseline: key = contents of both programs + machine options; cached figures, or two
// child runs.
#include "tools/cs-sim/baselines.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/support/files.h"
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
  Origin origin = Origin::handwritten;
};

// By hand if every kernel is; what is generated stands there as a primitive.
std::string origin_of(const Json& stats) {
  for (const Json& row : stats.value("kernels", Json::array()))
    if (row.value("origin", "") != "handwritten") return "primitive";
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
    Figures f{row["latency_cycles"].get<double>(), {}, {}};
    f.origin = origin_from_name(row.value("origin", "handwritten")).value_or(Origin::handwritten);
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

// base.csp, base2.csp, … share the PEs one after the other, so their cycles are added.
std::optional<Figures> in_turn(Runner& runner, const std::string& folder, std::string& error) {
  std::optional<Figures> all = runner.figures(folder + "/base.csp", error);
  for (int i = 2; all && fs::exists(fmt::format("{}/base{}.csp", folder, i)); ++i) {
    const auto next = runner.figures(fmt::format("{}/base{}.csp", folder, i), error);
    if (!next) return std::nullopt;
    all->cycles += next->cycles;
    all->interval = all->interval && next->interval ? std::optional(*all->interval + *next->interval) : std::nullopt;
    if (next->origin != Origin::handwritten) all->origin = Origin::primitive;
  }
  if (all && all->origin != Origin::handwritten) all->origin = Origin::primitive;
  return all;
}

// What the compiler wrote of it: "gemv + relu".
std::string counterpart_name(const std::string& program) {
  Diag diag;
  const auto text = read_file(program + "/manifest.json", diag, 1 << 24);
  const Json manifest = text ? Json::parse(*text, nullptr, false) : Json();
  return manifest.is_object() ? manifest.value("options", Json::object()).value("counterpart", "") : "";
}

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
    const auto base = self ? in_turn(runner, folder, error) : std::nullopt;
    if (!base) {
      failures += fmt::format(" {}: {} {}.", k.row.name, self ? "base" : "this", error);
      continue;
    }
    k.counterpart = sim::Counterpart{base->origin,
                                     base->cycles,
                                     self->cycles,
                                     self->cycles / base->cycles,
                                     base->interval,
                                     self->interval,
                                     counterpart_name(folder + "/base.csp")};
    ++compared;
  }
  if (generated > compared)
    report.baselines_note = fmt::format(
        "{} of {} generated kernels have no counterpart here (compiled with --no-baselines, or none "
        "exists).{}",
        generated - compared, generated, failures);
}

}  // namespace cs

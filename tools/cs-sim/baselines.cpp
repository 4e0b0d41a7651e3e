// For each kernel with a baseline: key = contents of both programs + machine options; cached figures, or two
// child runs.
#include "tools/cs-sim/baselines.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/support/files.h"
#include "tools/cs-sim/child.h"

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

// Everything that decides the figures of a program: its bytes, the options of the machine, our version.
std::string key_of(const SimOptions& o, const std::string& program, Diag& diag) {
  std::string bytes = version() + "\n" + o.machine + "\n" + kSamples;
  for (const std::string& set : o.set) bytes += "\n" + set;
  for (const char* name : {"program.fb", "weights.bin"}) {
    const auto part = read_file(program + "/" + name, diag);
    bytes += "\n" + (part ? hash_text(*part) : "");
  }
  return hash_text(bytes);
}

std::string origin_of(const Json& stats) {
  for (const char* list : {"ops", "kernels"})
    for (const Json& row : stats.value(list, Json::array()))
      if (std::string origin = row.value("origin", ""); !origin.empty()) return origin;
  return "handwritten";
}

class Runner {
 public:
  Runner(const SimOptions& o) : options_(o), file_(o.program + "/baselines/results.json") {
    Diag diag;
    if (const auto text = fs::exists(file_) ? read_file(file_, diag) : std::nullopt) {
      cache_ = Json::parse(*text, nullptr, false);
    }
    if (!cache_.is_object()) cache_ = Json::object();
  }
  // A cache that cannot be written only costs time.
  ~Runner() {
    Diag diag;
    if (changed_) write_file_atomic(file_, cache_.dump(1) + "\n", diag);
  }

  std::optional<Figures> figures(const std::string& program, std::string& error) {
    Diag diag;
    const std::string key = key_of(options_, program, diag);
    if (!diag.ok()) {
      error = "cannot be read";
      return std::nullopt;
    }
    if (!cache_.contains(key) || !usable(cache_[key])) {
      const ChildRun run = run_child_sim(options_, program, {"--child", "--iterations", kSamples});
      if (run.exit_code != kOk) {
        error = run.error.substr(0, run.error.find('\n'));
        return std::nullopt;
      }
      cache_[key] = {{"latency_cycles", run.stats.value("latency_cycles", Json())},
                     {"interval_cycles", run.stats.value("interval_cycles", Json())},
                     {"origin", origin_of(run.stats)}};
      changed_ = true;
    }
    const Json& row = cache_[key];
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
  std::string file_;
  Json cache_;
  bool changed_ = false;
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

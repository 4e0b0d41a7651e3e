// A candidate is stopped when it has taken twice the cycles of this run: it will not gain any more. One with more
// copies of the network needs more samples until it has an interval.
#include "tools/cs-sim/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/program/folder.h"
#include "runtime/support/files.h"
#include "runtime/support/temporaries.h"
#include "tools/cs-sim/check.h"
#include "tools/cs-sim/child.h"
#include "tools/cs-sim/kept_runs.h"

namespace cs {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Adviser {
 public:
  Adviser(const SimOptions& o, const Program& p, const Machine& machine, const RunValues& values,
          const sim::RunReport& report)
      : o_(o), p_(p), machine_(machine), values_(values), r_(report), kept_(o, o.program + "/advice/results.json") {}

  // What the candidate in this folder gains, if it runs and gives the same results.
  std::optional<sim::Advice> judge(const std::string& folder) {
    const auto text = read_lines(folder + "/command");
    const auto row = text ? figures(folder + "/this.csp") : std::nullopt;
    if (!row) return std::nullopt;
    sim::Advice a;
    a.why = text->first;
    a.command = text->second;
    // The cycles of all samples where there is no steady state.
    const bool steady = r_.interval_cycles && (*row)["interval_cycles"].is_number();
    a.figure = steady ? "interval_cycles" : "cycles";
    a.base = steady ? *r_.interval_cycles : double(r_.cycles);
    a.value = (*row)[a.figure].get<double>();
    a.pes_used = row->value("pes_used", uint64_t(0));
    return a;
  }

 private:
  // "# why" and the command.
  static std::optional<std::pair<std::string, std::string>> read_lines(const std::string& file) {
    Diag diag;
    const auto text = read_file(file, diag, 1 << 20);
    const size_t end = text ? text->find('\n') : std::string::npos;
    if (end == std::string::npos || !text->starts_with("# ")) return std::nullopt;
    std::string command = text->substr(end + 1);
    while (command.ends_with('\n')) command.pop_back();
    return std::pair(text->substr(2, end - 2), command);
  }

  // As many as this run, or as the candidate's interval takes if this run has one.
  int samples_of(const std::string& program) const {
    const int samples = std::max(1, r_.iterations);
    Diag diag;
    const auto loaded = r_.interval_cycles ? read_program(program, diag) : std::nullopt;
    if (!loaded || !loaded->program.host) return samples;
    return std::max(samples, 4 * copies_over_samples(*loaded->program.host, machine_));
  }

  std::optional<Json> figures(const std::string& program) {
    Diag diag;
    const int samples = samples_of(program);
    const auto inputs = o_.inputs.empty() ? std::optional<std::string>("") : read_file(o_.inputs, diag);
    const auto own = kept_.key_of(o_.program, "");
    const auto key = inputs && own ? kept_.key_of(program, fmt::format("{} {} {} {}", samples, o_.seed,
                                                                       hash_text(*inputs), *own))
                                   : std::nullopt;
    if (!key) return std::nullopt;
    const Json* known = kept_.find(*key);
    if (known == nullptr) known = &kept_.keep(*key, run(program, samples));
    for (const char* name : {"cycles", "interval_cycles"})
      if (!known->contains(name)) return std::nullopt;
    return *known;
  }

  // An empty object if it fails, takes too long or gives other results.
  Json run(const std::string& program, int samples) const {
    const int times = (samples + std::max(1, r_.iterations) - 1) / std::max(1, r_.iterations);
    SimOptions limited = o_;
    limited.max_cycles = 2 * std::max<uint64_t>(r_.cycles, 1000) * uint64_t(times);
    const Temporary results((fs::temp_directory_path() / "cs-sim-advice.npz").string()),
        inputs((fs::temp_directory_path() / "cs-sim-inputs.npz").string());
    Diag diag;
    if (o_.inputs.empty() && !write_npz(inputs.path(), values_.inputs, diag)) return Json::object();
    const ChildRun child =
        run_child_sim(limited, program,
                      {"--child", "--outputs", results.path(), "--iterations", std::to_string(samples), "--inputs",
                       o_.inputs.empty() ? inputs.path() : o_.inputs});
    const auto values = child.exit_code == kOk ? read_npz(results.path(), diag) : std::nullopt;
    if (!values || !check_outputs(p_, values_.outputs, *values, std::max(1, r_.iterations)).ok) return Json::object();
    Json row;
    for (const char* name : {"cycles", "interval_cycles", "pes_used"}) row[name] = child.stats.value(name, Json());
    return row;
  }

  const SimOptions& o_;
  const Program& p_;
  const Machine& machine_;
  const RunValues& values_;
  const sim::RunReport& r_;
  KeptRuns kept_;
};

}  // namespace

void run_advice(const SimOptions& o, const Program& p, const Machine& machine, const RunValues& values,
                sim::RunReport& report) {
  std::vector<std::string> folders;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(o.program + "/advice", ec))
    if (entry.is_directory(ec)) folders.push_back(entry.path().string());
  if (folders.empty()) return;
  std::sort(folders.begin(), folders.end());
  Adviser adviser(o, p, machine, values, report);
  std::vector<sim::Advice> found;
  for (const std::string& folder : folders)
    if (const auto a = adviser.judge(folder); a && a->gain() >= sim::kWorthwhile) found.push_back(*a);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.gain() > b.gain(); });
  report.advice_note =
      fmt::format("{} other way{} to compile this model {} simulated; {} at least {:.0f} % faster", folders.size(),
                  folders.size() == 1 ? "" : "s", folders.size() == 1 ? "was" : "were",
                  found.empty()       ? "none is"
                  : found.size() == 1 ? "1 is"
                                      : fmt::format("{} are", found.size()),
                  100 * sim::kWorthwhile);
  report.advice = std::move(found);
}

}  // namespace cs

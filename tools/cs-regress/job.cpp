// A job in four steps, each of which can end it with a message:
//   1. cs-compile   2. cs-sim --json   3. figures from its JSON, the measure   4. expectation
#include "tools/cs-regress/job.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/host/npz.h"
#include "runtime/ops/ops.h"
#include "runtime/support/files.h"
#include "tools/cli/child_process.h"
#include "tools/cs-regress/expression.h"
#include "tools/cs-regress/loss_case.h"

namespace cs {
namespace {

using nlohmann::json;

// The first lines of what a tool said on stderr: enough to see why, short enough for a table.
std::string excerpt(const std::string& text) {
  std::string out;
  int lines = 0;
  for (size_t i = 0; i < text.size() && lines < 6; ++i) {
    out += text[i];
    if (text[i] == '\n') ++lines;
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string describe_failure(const std::string& tool, const ChildResult& r) {
  if (r.timed_out) return fmt::format("{}: no end after {:.0f} s", tool, r.seconds);
  return fmt::format("{}: exit code {}\n{}", tool, r.exit_code, excerpt(r.err));
}

std::vector<std::string> compile_command(const Job& job, const RunOptions& o, const std::string& out) {
  std::vector<std::string> argv{o.tools + "/cs-compile", job.program, "-m", job.machine, "-o", out,
                                "--no-baselines"};
  if (!job.policy.empty()) argv.insert(argv.end(), {"--autogen-policy", job.policy});
  if (!job.fabric.empty()) argv.insert(argv.end(), {"--fabric", job.fabric});
  if (!job.copies.empty()) argv.insert(argv.end(), {"--copies", job.copies});
  for (const std::string& set : job.set) argv.insert(argv.end(), {"--set", set});
  for (const auto& [name, value] : job.dims)
    argv.insert(argv.end(), {"--dim", name + "=" + std::to_string(value)});
  if (const auto& c = job.kernel_case)
    argv.insert(argv.end(), {"--rect", fmt::format("{}x{}", c->width_of_shard(), c->height)});
  if (job.kernel_case && job.kernel_case->shards > 1)
    argv.insert(argv.end(), {"--shards", std::to_string(job.kernel_case->shards)});
  if (job.kernel_case && job.kernel_case->resident) argv.insert(argv.end(), {"--operands", "resident"});
  std::string params;
  for (const auto& [name, value] : job.params) params += (params.empty() ? "" : ",") + name + ":" + value;
  if (job.is_layout() && !params.empty()) argv.push_back("--params=" + params);
  return argv;
}

std::vector<std::string> simulate_command(const Job& job, const RunOptions& o, const std::string& out) {
  std::vector<std::string> argv{o.tools + "/cs-sim", out, "--json", "--outputs", out + "/outputs.npz"};
  if (!job.inputs.empty()) argv.insert(argv.end(), {"--inputs", job.inputs});
  if (!job.check.empty()) argv.insert(argv.end(), {"--expect", job.check});
  if (!job.launch.empty()) argv.insert(argv.end(), {"--launch", job.launch});
  if (job.iterations > 0) argv.insert(argv.end(), {"--iterations", std::to_string(job.iterations)});
  if (job.silicon)
    argv.insert(argv.end(), {"--set", "machine.calibration.silicon_calibration=true", "--on-other-machine"});
  for (const std::string& fault : job.allow) argv.insert(argv.end(), {"--allow", fault});
  return argv;
}

double number(const json& stats, const std::string& key) {
  const auto it = stats.find(key);
  return it != stats.end() && it->is_number() ? it->get<double>() : 0;
}

// Views and constants are no work for anybody, whoever hands them on.
bool computes(const std::string& op) {
  const ops::OpDef* row = ops::find_op(op);
  return row == nullptr || (row->kind != ops::OpKind::view && row->kind != ops::OpKind::source);
}

// Of a kernel with resident operands, which the host copies and launches, the interval is its own cycles.
Figures figures_from(const json& stats, bool resident) {
  Figures f;
  f.cycles = number(stats, "cycles");
  f.interval = number(stats, "interval_cycles");
  for (const json& k : stats.value("kernels", json::array()))
    if (resident) f.interval = std::max(f.interval, number(k, "cycles"));
  f.samples_per_second = number(stats, "samples_per_second");
  f.roof = number(stats, "roof_cycles");
  f.efficiency = number(stats, "efficiency");
  f.copies = stats.value("copies", 1);
  std::set<int> colors;
  for (const json& k : stats.value("kernels", json::array())) {
    f.kernels += k.value("origin", "host") == "host" ? 0 : 1;
    f.bytes_per_pe = std::max(f.bytes_per_pe, number(k, "bytes_per_pe"));
    for (const json& c : k.value("colours", json::array())) colors.insert(c.get<int>());
  }
  f.colors = int(colors.size());
  std::map<std::string, int> origins;
  for (const json& op : stats.value("ops", json::array())) {
    const std::string origin = op.value("origin", "?");
    ++origins[origin];
    f.host_operators += origin == "host" && computes(op.value("op", "")) ? 1 : 0;
  }
  for (const auto& [origin, count] : origins)
    f.origins += fmt::format("{}{} {}", f.origins.empty() ? "" : ", ", origin, count);
  return f;
}

// Of a loss whose kernels ran one by one.
Figures figures_of_parts(const KernelFigures& k) {
  Figures f;
  f.cycles = f.interval = k.cycles;
  f.bytes_per_pe = k.bytes_per_pe;
  f.kernels = k.kernels;
  f.origins = fmt::format("{} {}", k.origin, k.kernels);
  return f;
}

// Why the first operator of the host has no kernel.
std::string host_reason(const json& stats) {
  for (const json& k : stats.value("kernels", json::array()))
    if (k.value("origin", "") == "host")
      return k.value("op", "?") + ": " + k.value("reason", "no reason given");
  return "no kernel";
}

json read_report(const std::string& out) {
  Diag diag;
  const auto text = read_file(out + "/compile_report.json", diag);
  return json::parse(text.value_or(""), nullptr, false);
}

// The interval that the compiler expects of the network.
double estimated_interval(const json& report) {
  return report.is_object() && report.contains("estimate") ? number(report["estimate"], "interval_cycles") : 0;
}

// Several copies of a network have an interval from four samples of each on.
int samples_of_copies(const json& report, int iterations) {
  const int copies = report.is_object() ? report.value("copies", 1) : 1;
  return std::max(iterations, 4 * copies);
}

// The 16-bit words of an array in memory order.
std::vector<double> words_of(const NamedArray& a) {
  std::vector<double> out;
  for (size_t i = 0; i + 1 < a.tensor.bytes.size(); i += 2)
    out.push_back(double(a.tensor.bytes[i] | a.tensor.bytes[i + 1] << 8));
  return out;
}

// "launch.f_spmv": the cycles of each launch of that function.
std::optional<std::vector<double>> launches_of(const json& stats, const std::string& name) {
  constexpr std::string_view kLaunch = "launch.";
  if (!name.starts_with(kLaunch)) return std::nullopt;
  std::vector<double> out;
  for (const json& l : stats.value("launches", json::array()))
    if (l.value("function", "") == name.substr(kLaunch.size())) out.push_back(number(l, "cycles"));
  return out.empty() ? std::nullopt : std::optional(out);
}

// `measure` over the figures and, for programs without a host part, over parameters and exported symbols.
std::optional<double> measure(const Job& job, const std::string& text, const json& stats,
                              const std::string& outputs, std::string& error) {
  Diag diag;
  const bool is_figure = stats.contains(text) || text == "interval";
  const auto arrays = is_figure ? std::nullopt : read_npz(outputs, diag);
  const Lookup lookup = [&](const std::string& name) -> std::optional<std::vector<double>> {
    if (const auto cycles = launches_of(stats, name)) return cycles;
    const std::string key = name == "interval" ? "interval_cycles" : name;
    if (stats.contains(key) && stats[key].is_number()) return std::vector{stats[key].get<double>()};
    if (!arrays) return std::nullopt;
    double param = 0;
    if (const auto it = job.params.find(name); it != job.params.end()) {
      std::from_chars(it->second.data(), it->second.data() + it->second.size(), param);
      return std::vector{param};
    }
    for (const NamedArray& a : *arrays) {
      if (a.name == name) return to_doubles(a);
      if (a.name + ".u16" == name) return words_of(a);
    }
    return std::nullopt;
  };
  return evaluate_expression(text, lookup, error);
}

// What was measured against what was expected; `message` stays empty if that is fine.
void judge(const Job& job, const json& stats, const std::string& outputs, Result& result) {
  std::string error;
  result.measured = measure(job, job.measure, stats, outputs, error);
  if (!result.measured) {
    result.message = "measure '" + job.measure + "': " + error;
    return;
  }
  if (job.measure != "cycles" && job.measure != "interval") result.figures->measured = *result.measured;
  if (!job.result_measure.empty()) {
    const auto value = measure(job, job.result_measure, stats, outputs, error);
    if (!value || *value != job.result_value) {
      result.message = fmt::format("result '{}' is {}, must be {:.9g}", job.result_measure,
                                   value ? fmt::format("{:.9g}", *value) : error, job.result_value);
      return;
    }
  }
  const bool beyond = job.expect && job.expect->gates &&
                      std::abs(*result.measured - job.expect->value) > job.expect->tolerance;
  result.missed = beyond && !job.expect->missed.empty();
  if (beyond && !result.missed)
    result.message = fmt::format("{} is {:.6g}, expected {:.6g} within {}", job.measure, *result.measured,
                                 job.expect->value, job.expect->tolerance_text);
  result.ok = result.message.empty();
}

}  // namespace

Result result_of(const Job& job) {
  Result result;
  result.name = job.name;
  result.row = job.name.substr(0, job.name.find('/'));
  result.machine = job.machine;
  result.point = job.point;
  result.kernel_case = job.kernel_case;
  result.group = job.group;
  result.network = job.network;
  result.joins = job.joins;
  result.baseline_interval = job.baseline_interval;
  result.expect = job.expect;
  result.error_class = job.error_class;
  result.gradients = job.gradients;
  return result;
}

Result run_job(const Job& given, const RunOptions& options) {
  Job job = given;
  Result result = result_of(job);
  std::string folder = job.name;
  for (char& c : folder)
    if (c == '/' || c == '=') c = '_';
  const std::string out = options.work + "/" + folder + ".csp";
  const std::string made = options.work + "/" + folder;
  const bool loss = job.kernel_case && job.kernel_case->fused.has_value();
  if (job.prepare && !job.prepare(job, made, result.message)) return result;
  if (loss && job.kernel_case->resident) {
    result.kernel = run_resident_loss(job, options, made, result.seconds, result.message);
    result.ok = result.kernel.has_value();
    if (result.ok) result.figures = figures_of_parts(*result.kernel);
    std::error_code ec;
    std::filesystem::remove_all(made, ec);
    return result;
  }

  const ChildResult compiled = run_child(compile_command(job, options, out), options.timeout_seconds);
  result.seconds += compiled.seconds;
  if (compiled.exit_code != 0) {
    result.message = describe_failure("cs-compile", compiled);
    return result;
  }
  const json report = read_report(out);
  if (!job.copies.empty()) job.iterations = samples_of_copies(report, job.iterations);
  const ChildResult simulated = run_child(simulate_command(job, options, out), options.timeout_seconds);
  result.seconds += simulated.seconds;
  const json stats = json::parse(simulated.out, nullptr, false);
  if (!stats.is_discarded() && stats.is_object())
    result.figures = figures_from(stats, job.kernel_case && job.kernel_case->resident);
  if (result.figures && job.network)
    result.figures->estimated = estimated_interval(report);
  if (simulated.exit_code != 0)
    result.message = describe_failure("cs-sim", simulated);
  else if (!result.figures)
    result.message = "cs-sim --json printed no JSON object";
  else if (job.judge)
    job.judge(out + "/outputs.npz", result);
  else
    judge(job, stats, out + "/outputs.npz", result);
  if (result.ok && job.kernel_case) {
    result.kernel = loss ? read_loss_figures(simulated.out, result.message)
                         : read_kernel_figures(*job.kernel_case, out + "/compile_report.json",
                                               result.figures->interval, result.message);
    result.ok = result.kernel.has_value();
    if (result.ok && !loss)
      result.kernel->walked = walked_cycles(
          run_child({options.tools + "/cs-objdump", out, "--cycles", "--json"}, options.timeout_seconds).out);
  }
  if (result.ok && job.wafer_only && result.figures->host_operators > 0) {
    result.ok = false;
    result.message = "right, but computed on the host: " + host_reason(stats);
  }
  std::error_code ec;
  std::filesystem::remove_all(out, ec);
  std::filesystem::remove_all(options.work + "/" + folder, ec);
  return result;
}

}  // namespace cs

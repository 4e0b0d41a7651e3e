// The machine of a point goes into the Program when it is compiled; the simulator takes it from there.
#include "tools/cs-sweep/run_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/support/files.h"
#include "tools/cli/child_process.h"
#include "tools/cli/exit_code.h"

namespace cs::sweep {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Figures of stats.json that a row has. Times of the simulating computer are none of them.
constexpr const char* kFigures[] = {"cycles",       "latency_cycles", "interval_cycles", "samples_per_second",
                                    "flops",        "utilisation",    "wavelet_hops",    "instructions",
                                    "memory_bytes", "pes_used",       "memory_bytes_max"};

std::string content_hash(const std::string& path) {
  Diag ignored;
  const auto bytes = path.empty() ? std::nullopt : read_file(path, ignored);
  return bytes ? hash_text(*bytes) : "-";
}

// A layout's own files may change without the layout.
std::string program_hash(const ProgramRow& row) {
  if (!row.is_layout()) return content_hash(row.program);
  std::vector<std::string> files;
  std::error_code ec;
  const fs::path folder = fs::path(row.program).parent_path();
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, ec))
    if (entry.path().extension() == ".csl") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::string text;
  for (const std::string& file : files) text += file + " " + content_hash(file) + "\n";
  return hash_text(text);
}

std::vector<std::string> compile_command(const Point& p, const std::string& tool, const std::string& out) {
  std::vector<std::string> argv{tool, p.program->program, "-m", p.machine, "-o", out, "--no-baselines", "-q"};
  for (const auto& [key, value] : p.set) argv.insert(argv.end(), {"--set", "machine." + key + "=" + value});
  if (!p.policy.empty()) argv.insert(argv.end(), {"--autogen-policy", p.policy});
  if (!p.program->fabric.empty()) argv.insert(argv.end(), {"--fabric", p.program->fabric});
  std::string params;
  for (const auto& [name, value] : p.params) params += (params.empty() ? "" : ",") + name + ":" + value;
  if (!params.empty()) argv.push_back("--params=" + params);
  return argv;
}

std::vector<std::string> simulate_command(const Point& p, const std::string& tool, const std::string& out) {
  std::vector<std::string> argv{tool, out, "--json", "-q"};
  if (!p.program->inputs.empty()) argv.insert(argv.end(), {"--inputs", p.program->inputs});
  if (!p.program->check.empty()) argv.insert(argv.end(), {"--expect", p.program->check});
  if (!p.program->launch.empty()) argv.insert(argv.end(), {"--launch", p.program->launch});
  if (p.iterations > 0) argv.insert(argv.end(), {"--iterations", std::to_string(p.iterations)});
  return argv;
}

// What went wrong, in one line without the names of our files.
std::string first_error(const ChildResult& r, const std::string& out) {
  if (r.timed_out) return "no end within the time limit";
  const size_t at = r.err.find("error: ");
  std::string line = at == std::string::npos ? r.err : r.err.substr(at + 7);
  line = line.substr(0, line.find('\n'));
  for (size_t i = line.find(out); i != std::string::npos; i = line.find(out))
    line.replace(i, out.size(), "OUT");
  return line.empty() ? fmt::format("exit code {}", r.exit_code) : line;
}

Json outcome(const char* word, const std::string& error) { return {{"outcome", word}, {"error", error}}; }

Json figures_of(const nlohmann::json& stats) {
  Json out = Json::object();
  for (const char* name : kFigures)
    if (stats.contains(name)) out[name] = stats[name];
  const auto energy = stats.value("energy_uj", nlohmann::json::object());
  if (energy.contains("total")) out["energy_uj"] = energy["total"];
  const int samples = stats.value("iterations", 0);
  if (energy.contains("total") && samples > 0)
    out["energy_uj_per_sample"] = energy["total"].get<double>() / samples;
  return out;
}

}  // namespace

std::string key_of(const Point& p) {
  std::string text = version() + "\n" + program_hash(*p.program) + "\n" + content_hash(p.program->inputs) +
                     "\n" + content_hash(p.program->check) + "\n" + p.machine + " " +
                     content_hash(p.machine) + "\n";
  for (const std::string& word : compile_command(p, "", "")) text += word + "\n";
  for (const std::string& word : simulate_command(p, "", "")) text += word + "\n";
  return hash_text(text);
}

Json run_point(const Point& p, size_t number, const RunSettings& settings) {
  const std::string out = fmt::format("{}/{}.csp", settings.work, number);
  const auto stopped = [&] { return settings.stop != nullptr && *settings.stop; };
  const ChildResult compiled = run_child(compile_command(p, settings.tools + "/cs-compile", out),
                                         settings.timeout_seconds, settings.stop);
  if (stopped()) return nullptr;
  if (compiled.exit_code != kOk) return outcome("refused", first_error(compiled, out));
  const ChildResult ran = run_child(simulate_command(p, settings.tools + "/cs-sim", out),
                                    settings.timeout_seconds, settings.stop);
  std::error_code ec;
  fs::remove_all(out, ec);
  if (stopped()) return nullptr;
  const auto stats = nlohmann::json::parse(ran.out, nullptr, false);
  const bool differs = ran.exit_code == kDiffers;
  if (!stats.is_object() || (ran.exit_code != kOk && !differs))
    return outcome("failed", first_error(ran, out));
  Json row = outcome(differs ? "differs" : "ok", differs ? first_error(ran, out) : "");
  row["figures"] = figures_of(stats);
  return row;
}

}  // namespace cs::sweep

// Writes the report's folder.
#include "tools/cs-sim/report_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/support/files.h"
#include "runtime/support/yaml.h"
#include "simulator/report/page.h"

namespace cs {
namespace {

std::string yaml_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ", " : "") + yaml_quote(item);
  return out + "]";
}

}  // namespace

bool write_report(const SimOptions& o, const sim::RunRecord& record, const sim::RunReport& r, Diag& diag) {
  std::error_code ec;
  std::filesystem::create_directories(o.report, ec);
  if (ec) {
    diag.error_at(o.report, "the folder cannot be made: " + ec.message());
    return false;
  }
  const std::string folder = o.report + "/";
  return write_file_atomic(folder + "config.yaml", r.config, diag) &&
         write_file_atomic(folder + "stats.json", sim::stats_json(r) + "\n", diag) &&
         write_file_atomic(folder + "report.html", sim::report_page(r), diag) &&
         write_file_atomic(folder + "run.json", sim::run_json(record, r), diag);
}

sim::RunRecord run_record(const SimOptions& o, const std::string& program, const std::string& command,
                          int exit_code, double seconds) {
  sim::RunRecord r;
  r.tool_version = version_string("cs-sim");
  r.program = program;
  Diag ignored;
  if (const auto manifest = read_file(o.program + "/manifest.json", ignored))
    r.program_hash = hash_text(*manifest);
  r.command = command;
  r.exit_code = exit_code;
  r.wall_s = seconds;
  return r;
}

std::string config_text(const SimOptions& o, const Machine& machine) {
  std::string out = "# Every effective value of this run.\noptions:\n";
  out += fmt::format("  iterations: {}\n  seed: {}\n  block: {}x{}\n  threads: {}\n", o.iterations, o.seed,
                     o.block_width, o.block_height, o.threads);
  out += fmt::format("  max_cycles: {}\n  max_seconds: {}\n", o.max_cycles, o.max_seconds);
  out += fmt::format("  launch: {}\n  set: {}\n  allow: {}\nmachine:\n", yaml_list(o.launch),
                     yaml_list(o.set), yaml_list(o.allow));
  const std::string yaml = machine_to_yaml(machine);
  for (size_t at = 0; at < yaml.size();) {
    size_t end = yaml.find('\n', at);
    if (end == std::string::npos) end = yaml.size();
    out += (end > at ? "  " : "") + yaml.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

std::vector<sim::KernelSpan> kernel_spans(const nlohmann::json& stats) {
  std::vector<sim::KernelSpan> out;
  for (const auto& row : stats.value("kernels", nlohmann::json::array())) {
    sim::KernelSpan span;
    span.name = row.value("name", "");
    const auto read = [&](const char* key, auto& into) {
      if (row.contains(key) && row[key].is_number()) into = row[key].get<std::decay_t<decltype(*into)>>();
    };
    read("first_task", span.first_task);
    read("last_task_end", span.last_task_end);
    read("cycles", span.cycles);
    out.push_back(std::move(span));
  }
  return out;
}

}  // namespace cs

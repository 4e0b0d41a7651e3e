// One Chrome sink per file; the waveform is written by the shell under a temporary name and renamed here.
#include "tools/cs-sim/traces.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "tools/cli/tool.h"

namespace cs {
namespace {

constexpr int64_t kMaxProbes = 256;

}  // namespace

Traces::Traces(const SimOptions& o, std::string& error) {
  filter_.max_events = o.trace_events;
  if (!o.trace_region.empty()) {
    filter_.region = sim::parse_trace_region(o.trace_region);
    if (!filter_.region) error = fmt::format("--trace-region must be X,Y,W,H, got '{}'", o.trace_region);
  }
  if (!o.trace_window.empty() && !sim::parse_trace_window(o.trace_window, filter_))
    error = fmt::format("--trace-window must be A:B with A < B, got '{}'", o.trace_window);
  for (const std::string& t : o.traces) {
    const size_t equals = t.find('=');
    const std::string kind = t.substr(0, equals),
                      file = equals == std::string::npos ? "" : t.substr(equals + 1);
    if (file.empty()) {
      error = fmt::format("--trace must be KIND=FILE, got '{}'", t);
    } else if (kind == "chrome") {
      chrome_files_.push_back(file);
    } else if (kind == "simlog") {
      simlog_files_.push_back(file);
    } else if (kind == "vcd" && vcd_file_.empty()) {
      vcd_file_ = file;
    } else if (kind == "vcd") {
      error = "--trace vcd=FILE can be given once";
    } else if (kind == "perfetto") {
      error = "--trace perfetto: this kind comes with a later version; there are chrome, simlog and vcd";
    } else {
      error = fmt::format("--trace: unknown kind '{}'; there are chrome, simlog and vcd{}", kind,
                          cli::did_you_mean(kind, {"chrome", "simlog", "vcd"}));
    }
  }
}

// What SystemC was writing when the run failed.
Traces::~Traces() {
  if (vcd_temporary_) std::remove((vcd_temporary_->path() + ".vcd").c_str());
}

bool Traces::prepare(const Program& program, const Machine& machine, sim::ShellOptions& shell, Diag& diag) {
  for (size_t i = 0; i < chrome_files_.size(); ++i) {
    chrome_.push_back(std::make_unique<sim::ChromeTrace>(program, machine, filter_));
    sinks_.add(chrome_.back().get());
  }
  for (size_t i = 0; i < simlog_files_.size(); ++i) {
    simlog_.push_back(std::make_unique<sim::SimlogTrace>(program, machine, filter_));
    sinks_.add(simlog_.back().get());
  }
  if (vcd_file_.empty()) return true;
  Rect r = filter_.region.value_or(program.user);
  r.w = std::min(r.w, program.fabric_width - r.x);
  r.h = std::min(r.h, program.fabric_height - r.y);
  if (r.w <= 0 || r.h <= 0) {
    diag.error_at("--trace-region", fmt::format("lies outside the fabric of {} x {} PEs",
                                                program.fabric_width, program.fabric_height));
    return false;
  }
  if (r.area() > kMaxProbes) {
    diag.error_at(
        vcd_file_,
        fmt::format("a waveform of {} PEs was asked for, at most {} are possible", r.area(), kMaxProbes),
        "choose them with --trace-region X,Y,W,H");
    return false;
  }
  for (int y = r.y; y < r.y + r.h; ++y)
    for (int x = r.x; x < r.x + r.w; ++x) shell.probes.push_back({x, y});
  vcd_temporary_.emplace(vcd_file_);
  shell.waveform = vcd_temporary_->path();  // SystemC appends ".vcd"
  shell.window_begin = filter_.begin;
  shell.window_end = filter_.end;
  if (!std::ofstream(shell.waveform + ".vcd")) {
    diag.error_at(vcd_file_, "cannot be written");
    return false;
  }
  return true;
}

void Traces::add_host(const std::vector<HostSpan>& spans) {
  for (const auto& trace : chrome_) trace->host(spans);
}

void Traces::add_launches(const std::vector<LaunchSpan>& spans) {
  for (const auto& trace : chrome_) trace->launches(spans);
}

void Traces::note(const std::string& file, size_t events, std::optional<Cycle> cut, const char* opens,
                  std::string& notes) const {
  notes += fmt::format("trace: {} ({} events; opens in {})\n", file, events, opens);
  if (cut)
    notes += fmt::format(
        "trace: the budget of {} events was used up at cycle {}; narrow it with --trace-region or "
        "--trace-window, or raise --trace-events\n",
        filter_.max_events, *cut);
}

bool Traces::write(Diag& diag, std::string& notes) {
  bool ok = true;
  for (size_t i = 0; i < chrome_.size(); ++i)
    if (chrome_[i]->write(chrome_files_[i], diag))
      note(chrome_files_[i], chrome_[i]->events(), chrome_[i]->truncated_at(), "ui.perfetto.dev", notes);
    else
      ok = false;
  for (size_t i = 0; i < simlog_.size(); ++i)
    if (simlog_[i]->write(simlog_files_[i], diag))
      note(simlog_files_[i], simlog_[i]->events(), simlog_[i]->truncated_at(), "viewers of sim.log", notes);
    else
      ok = false;
  if (vcd_file_.empty()) return ok;
  std::string why = "the waveform was not written";
  if (std::rename((vcd_temporary_->path() + ".vcd").c_str(), vcd_temporary_->path().c_str()) != 0 ||
      !vcd_temporary_->put_in_place(why)) {
    diag.error_at(vcd_file_, why);
    return false;
  }
  notes += fmt::format("trace: {} (waveform, 1 ns is one cycle)\n", vcd_file_);
  return ok;
}

}  // namespace cs

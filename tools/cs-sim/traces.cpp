// One sink per file; the waveform is written by the shell under a temporary name and renamed here.
#include "tools/cs-sim/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tools/cli/tool.h"

namespace cs {
namespace {

constexpr int64_t kMaxProbes = 256;

}  // namespace

Traces::Traces(const SimOptions& o, std::string& error) {
  filter_.max_events = o.trace_events == 0 ? UINT64_MAX : o.trace_events;
  if (const auto bytes = sim::parse_trace_bytes(o.trace_bytes))
    filter_.max_bytes = *bytes;
  else
    error = fmt::format("--trace-bytes must be a number, with K, M or G behind it if you like, got '{}'",
                        o.trace_bytes);
  if (!o.trace_region.empty()) {
    filter_.region = sim::parse_trace_region(o.trace_region);
    if (!filter_.region) error = fmt::format("--trace-region must be X,Y,W,H, got '{}'", o.trace_region);
  }
  if (!o.trace_window.empty() && !sim::parse_trace_window(o.trace_window, filter_))
    error = fmt::format("--trace-window must be A:B with A < B, got '{}'", o.trace_window);
  read_kinds(o, error);
  for (const std::string& t : o.traces) read_trace(t, error);
  read_environment(o, error);
}

void Traces::read_trace(const std::string& t, std::string& error) {
  const std::vector<std::string> kinds{"chrome", "perfetto", "simlog", "vcd"};
  const size_t equals = t.find('=');
  const std::string kind = t.substr(0, equals),
                    file = equals == std::string::npos ? "" : t.substr(equals + 1);
  if (file.empty()) {
    error = fmt::format("--trace must be KIND=FILE, got '{}'", t);
  } else if (kind == "chrome") {
    timeline_files_.push_back({file, sim::TimelineFormat::chrome});
  } else if (kind == "perfetto") {
    timeline_files_.push_back({file, sim::TimelineFormat::perfetto});
  } else if (kind == "simlog") {
    simlog_files_.push_back(file);
  } else if (kind == "vcd" && vcd_file_.empty()) {
    vcd_file_ = file;
  } else if (kind == "vcd") {
    error = "--trace vcd=FILE can be given once";
  } else {
    error = fmt::format("--trace: unknown kind '{}'; there are {}{}", kind, fmt::join(kinds, ", "),
                        cli::did_you_mean(kind, kinds));
  }
}

void Traces::read_kinds(const SimOptions& o, std::string& error) {
  level_ = o.trace_level;
  const auto of_level = sim::trace_level_kinds(o.trace_level);
  if (!of_level)
    error = fmt::format("--trace-level: unknown level '{}'; there are {}{}", o.trace_level,
                        fmt::join(sim::trace_level_names(), ", "),
                        cli::did_you_mean(o.trace_level, sim::trace_level_names()));
  filter_.kinds = of_level.value_or(0);
  if (o.trace_kinds.empty()) return;
  const std::vector<std::string>& names = sim::trace_kind_names();
  filter_.kinds = 0;
  for (const std::string& word : o.trace_kinds) {
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end())
      error = fmt::format("--trace-kinds: unknown kind '{}'; there are {}{}", word, fmt::join(names, ", "),
                          cli::did_you_mean(word, names));
    else
      filter_.kinds |= 1u << (at - names.begin());
  }
}

// The variable of the vendor's simulator, and the form of it that passes into its container. It asks for
// sim.log in the present folder, where no other log was asked for.
void Traces::read_environment(const SimOptions& o, std::string& error) {
  for (const char* name : {"SIMFABRIC_DEBUG", "SINGULARITYENV_SIMFABRIC_DEBUG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0 || o.child) continue;
    const auto lines = sim::SimlogLines::parse(value);
    if (!lines) {
      error = fmt::format(
          "the environment variable {} must be landing, router or inst_trace, or several of them with "
          "commas between, got '{}'",
          name, value);
      return;
    }
    simlog_lines_ = simlog_lines_.value_or(0) | *lines;
  }
  if (simlog_lines_ && simlog_files_.empty()) simlog_files_.push_back("sim.log");
}

// What SystemC was writing when the run failed.
Traces::~Traces() {
  if (vcd_temporary_) std::remove((vcd_temporary_->path() + ".vcd").c_str());
}

bool Traces::prepare(const Program& program, const Machine& machine, sim::ShellOptions& shell, Diag& diag) {
  const bool any = !timeline_files_.empty() || !simlog_files_.empty() || !vcd_file_.empty();
  Rect r = filter_.region.value_or(program.user);
  r.w = std::min(r.w, program.fabric_width - r.x);
  r.h = std::min(r.h, program.fabric_height - r.y);
  if (any && (r.w <= 0 || r.h <= 0)) {
    diag.error_at("--trace-region", fmt::format("lies outside the fabric of {} x {} PEs",
                                                program.fabric_width, program.fabric_height));
    return false;
  }
  for (const File& file : timeline_files_) {
    timelines_.push_back(std::make_unique<sim::TimelineTrace>(file.format, file.path, program,
                                                              machine.clock_mhz, filter_, diag));
    if (!timelines_.back()->ok()) return false;
    sinks_.add(timelines_.back().get());
  }
  for (const std::string& file : simlog_files_) {
    const uint32_t lines = simlog_lines_ ? *simlog_lines_ : sim::SimlogLines::kAll;
    simlog_.push_back(std::make_unique<sim::SimlogTrace>(file, program, machine, filter_, lines, diag));
    if (!simlog_.back()->ok()) return false;
    sinks_.add(simlog_.back().get());
  }
  if (vcd_file_.empty()) return true;
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

void Traces::attach(sim::Shell& shell, const sim::Engine& engine, Cycle first, std::function<Cycle()> other) {
  if (timelines_.empty() && !other) return;
  // Each is looked at when its own cycle has come.
  auto due = std::make_shared<std::vector<Cycle>>(timelines_.size() + 1, Cycle(0));
  due->back() = other ? first : kNever;
  shell.set_sampler(0, [this, &engine, due, other = std::move(other)] {
    const Cycle now = engine.now();
    for (size_t i = 0; i < timelines_.size(); ++i)
      if ((*due)[i] <= now) (*due)[i] = timelines_[i]->sample(engine);
    if (other && due->back() <= now) due->back() = other();
    return *std::min_element(due->begin(), due->end());
  });
}

void Traces::add_host(const std::vector<HostSpan>& spans) {
  for (const auto& trace : timelines_) trace->host(spans);
}

void Traces::add_launches(const std::vector<LaunchSpan>& spans) {
  for (const auto& trace : timelines_) trace->launches(spans);
}

std::string Traces::what() const {
  if (sim::trace_level_kinds(level_) == filter_.kinds) return "level " + level_;
  std::string kinds;
  for (size_t i = 0; i < sim::trace_kind_names().size(); ++i)
    if (filter_.has(sim::TraceKind(i))) kinds += (kinds.empty() ? "" : ", ") + sim::trace_kind_names()[i];
  return kinds;
}

void Traces::note(const std::string& file, size_t events, uint64_t bytes, std::optional<Cycle> cut,
                  const char* opens, std::string& notes) const {
  notes += fmt::format("trace: {} ({} events, {:.1f} MB; opens in {})\n", file, events, double(bytes) / 1e6,
                       opens);
  if (events == 0 && !cut) notes += "trace: nothing of the chosen kinds happened in this region and window\n";
  if (!cut) return;
  notes += fmt::format(
      "trace: the budget of {} was used up at cycle {}; narrow it with --trace-region, --trace-window or "
      "--trace-kinds, or raise {}\n",
      events >= filter_.max_events ? fmt::format("{} events", filter_.max_events)
                                   : fmt::format("{} bytes", filter_.max_bytes),
      *cut, events >= filter_.max_events ? "--trace-events" : "--trace-bytes");
}

bool Traces::write(Diag& diag, std::string& notes) {
  bool ok = true;
  for (size_t i = 0; i < timelines_.size(); ++i)
    if (sim::TimelineTrace& t = *timelines_[i]; t.finish())
      note(timeline_files_[i].path, t.events(), t.bytes(), t.truncated_at(),
           ("ui.perfetto.dev; " + what()).c_str(), notes);
    else
      ok = false;
  for (size_t i = 0; i < simlog_.size(); ++i)
    if (sim::SimlogTrace& t = *simlog_[i]; t.finish())
      note(simlog_files_[i], t.events(), t.bytes(), t.truncated_at(), "viewers of sim.log", notes);
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

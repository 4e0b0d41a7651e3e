// Load, run, compare, say what came out. What only the engine counts (stalls, timelines, reports) is not here.
#include "tools/cs-sim/structural_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/host/exports.h"
#include "runtime/host/model_run.h"
#include "simulator/systemc/structural/device.h"
#include "tools/cli/interrupt.h"
#include "tools/cs-sim/check.h"
#include "tools/cs-sim/launch_run.h"
#include "tools/cs-sim/options_fit.h"
#include "tools/cs-sim/print_log.h"
#include "tools/cs-sim/run_machine.h"

namespace cs {
namespace {

constexpr std::string_view kVcd = "vcd=";

// Lines of the log in the order of cycle and PE, whichever core comes first in a cycle.
class Printed : public sim::structural::Observer {
 public:
  void printed(Cycle cycle, Coord pe, const std::string& text) override { lines_.push_back({cycle, pe, text}); }
  void show(const std::string& file) {
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return std::tuple(a.cycle, a.pe.y, a.pe.x) < std::tuple(b.cycle, b.pe.y, b.pe.x);
    });
    PrintLog log(file);
    const auto sink = log.sink();
    for (const Line& l : lines_) sink(l.cycle, l.pe, l.text);
  }

 private:
  struct Line {
    Cycle cycle = 0;
    Coord pe;
    std::string text;
  };
  std::vector<Line> lines_;
};

class StructuralRun {
 public:
  StructuralRun(const SimOptions& o, cli::Reply& reply) : o_(o), reply_(reply) {}

  int run() {
    const bool ran = load() && build() && (is_model() ? run_network() : run_exports());
    printed_.show(o_.print);
    if (!ran) return fail();
    device_.reset();  // the waveform is complete
    if (!keep_waveform() || (!o_.outputs.empty() && !write_npz(o_.outputs, outputs_, diag_))) return fail();
    if (expected_ && ended_well())
      check_ = check_outputs(loaded_.program, outputs_, *expected_, std::max(1, samples_));
    say();
    if (status_.reason == StopReason::interrupted) return kInterrupted;
    if (!ended_well()) return kSimulatedFailure;
    return check_ && !check_->ok ? kDiffers : kOk;
  }

 private:
  int fail() {
    reply_.show(diag_);
    return kInputError;
  }
  bool is_model() const { return runs_by_itself(loaded_.program); }
  bool ended_well() const {
    return status_.fault.empty() && (status_.reason == StopReason::condition || status_.reason == StopReason::idle);
  }

  bool load() {
    if (!load_to_run(o_, loaded_, machine_, diag_)) return false;
    if (!o_.inputs.empty()) {
      auto arrays = read_npz(o_.inputs, diag_);
      if (!arrays) return false;
      inputs_ = std::move(*arrays);
    } else if (is_model()) {
      inputs_ = random_inputs(*loaded_.program.host, std::max(1, o_.iterations), o_.seed);
    }
    if (!o_.expect.empty()) expected_ = read_npz(o_.expect, diag_);
    return o_.expect.empty() || expected_;
  }

  bool build() {
    sim::structural::StructuralOptions options;
    if (o_.max_cycles > 0) options.max_cycles = o_.max_cycles;
    options.interrupted = &cli::interrupted();
    options.observer = &printed_;
    if (!o_.traces.empty()) {
      vcd_ = o_.traces[0].substr(kVcd.size());
      options.waveform = temporary();
    }
    device_ = std::make_unique<sim::structural::StructuralDevice>(machine_, options);
    return device_->load(loaded_.program, loaded_.weights, diag_);
  }

  // SystemC appends ".vcd" to what it writes.
  std::string temporary() const { return vcd_ + fmt::format(".{}", getpid()); }
  bool keep_waveform() {
    if (vcd_.empty() || std::rename((temporary() + ".vcd").c_str(), vcd_.c_str()) == 0) return true;
    diag_.error_at(vcd_, "cannot be written");
    return false;
  }

  bool run_network() {
    const auto result = run_model(*device_, loaded_.weights, inputs_, {.samples = o_.iterations}, diag_);
    if (!result) return false;
    status_ = result->status;
    outputs_ = result->outputs;
    launches_ = result->launches;
    samples_ = result->samples;
    cycles_ = result->cycles;
    figures_["latency_cycles"] = result->latency_cycles;
    if (result->interval_cycles) figures_["interval_cycles"] = *result->interval_cycles;
    return true;
  }

  bool run_exports() {
    const auto functions = read_launches(o_.launch, diag_);
    if (!functions) return false;
    const Cycle limit = o_.max_cycles > 0 ? o_.max_cycles : kNever;
    const auto result = run_launches(*device_, *functions, std::max(1, o_.iterations), inputs_, limit, diag_);
    if (!result) return false;
    status_ = result->status;
    launches_ = result->spans;
    cycles_ = device_->now();
    outputs_ = read_exports(*device_);
    return true;
  }

  void say() {
    if (!status_.fault.empty())
      reply_.error(fmt::format("{} at cycle {}\n{}", status_.fault, status_.now, status_.message));
    if (check_ && !check_->ok) reply_.error("results differ: " + check_->mismatch);
    std::string text = fmt::format("structural model: {} cycles\n", cycles_);
    figures_["model"] = "structural";
    figures_["cycles"] = cycles_;
    for (const auto* key : {"latency_cycles", "interval_cycles"})
      if (figures_.contains(key)) text += fmt::format("  {} {}\n", key, figures_[key].dump());
    for (const LaunchSpan& l : launches_) {
      figures_["launches"].push_back(
          {{"function", l.function}, {"begin", l.begin}, {"end", l.end}, {"cycles", l.cycles()}, {"pes", l.pes}});
      text += fmt::format("  launch {}: {} to {}, {} cycles on {} PEs\n", l.function, l.begin, l.end, l.cycles(),
                          l.pes);
    }
    if (check_ && check_->ok) text += fmt::format("  check ok, {} tensors\n", check_->tensors);
    if (o_.json)
      reply_.object(figures_.dump(2));
    else
      reply_.text(text);
  }

  const SimOptions& o_;
  cli::Reply& reply_;
  Diag diag_;
  MappedProgram loaded_;
  Machine machine_;
  std::vector<NamedArray> inputs_, outputs_;
  std::optional<std::vector<NamedArray>> expected_;
  Printed printed_;
  std::unique_ptr<sim::structural::StructuralDevice> device_;
  std::string vcd_;
  RunStatus status_;
  std::vector<LaunchSpan> launches_;
  std::optional<CheckResult> check_;
  nlohmann::ordered_json figures_;
  int samples_ = 1;
  Cycle cycles_ = 0;
};

}  // namespace

std::string beyond_the_structural_model(const SimOptions& o) {
  const std::pair<bool, const char*> beyond[] = {
      {!o.report.empty(), "--report"},
      {!o.against.empty(), "--against"},
      {!o.data.empty(), "--data"},
      {!o.eval_data.empty(), "--eval-data"},
      {!o.state_in.empty(), "--state-in"},
      {!o.state_out.empty(), "--state-out"},
      {!o.state.empty(), "--state"},
      {!o.allow.empty(), "--allow"},
      {o.serve, "--serve"},
      {!o.checkpoint.empty(), "--checkpoint"},
      {!o.restore.empty(), "--restore"},
      {o.max_seconds > 0, "--max-seconds"},
      {!o.trace_region.empty(), "--trace-region"},
      {!o.trace_window.empty(), "--trace-window"},
      {o.traces.size() > 1 || (o.traces.size() == 1 && !o.traces[0].starts_with(kVcd)), "--trace but vcd=FILE, once"},
      {o.threads > 1, "--threads"},
  };
  for (const auto& [given, option] : beyond)
    if (given)
      return fmt::format("--model structural does not have {}; --model engine does, with the same cycles", option);
  return "";
}

int simulate_structurally(const SimOptions& o, cli::Reply& reply) { return StructuralRun(o, reply).run(); }

}  // namespace cs

// The steps of a simulation, in order:
//   1. load program, machine, inputs   2. run (traces, timeline listen)   3. leftover wavelets, allowed faults
//   4. outputs, check   5. figures: this run, one sample alone   6. baselines, --against (children)   7. files, summary
#include "tools/cs-sim/print_log.h"
#include "tools/cs-sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "runtime/host/copy_run.h"
#include "runtime/host/exports.h"
#include "runtime/host/model_run.h"
#include "runtime/host/training_data.h"
#include "runtime/support/files.h"
#include "runtime/support/progress.h"
#include "simulator/report/collect.h"
#include "simulator/report/cycle_classes.h"
#include "simulator/report/launches.h"
#include "simulator/report/profile.h"
#include "simulator/report/summary.h"
#include "simulator/report/stats_json.h"
#include "simulator/report/timeline.h"
#include "simulator/report/wait_tracker.h"
#include "tools/cli/interrupt.h"
#include "tools/cs-sim/advice.h"
#include "tools/cs-sim/against.h"
#include "tools/cs-sim/baselines.h"
#include "tools/cs-sim/check.h"
#include "tools/cs-sim/checkpoint.h"
#include "tools/cs-sim/child.h"
#include "tools/cs-sim/evaluation.h"
#include "tools/cs-sim/launch_run.h"
#include "tools/cs-sim/moved_inputs.h"
#include "tools/cs-sim/options_fit.h"
#include "tools/cs-sim/progress.h"
#include "tools/cs-sim/report_files.h"
#include "tools/cs-sim/run_machine.h"
#include "tools/cs-sim/sim_device.h"
#include "tools/cs-sim/state_file.h"
#include "tools/cs-sim/traces.h"

namespace cs {
namespace {

constexpr int kReportSamples = 8;

class Simulation {
 public:
  Simulation(const SimOptions& o, const std::string& command, cli::Reply& reply)
      : o_(o), command_(command), reply_(reply), traces_(o, usage_error_), print_(o.print),
        checkpoints_(o, usage_error_) {}

  int run() {
    if (usage_error_.empty()) usage_error_ = check_state_options(o_);
    if (!usage_error_.empty()) throw cli::Usage{usage_error_};
    reply_.show_progress(o_.quiet);
    const auto start = std::chrono::steady_clock::now();
    const bool ran = load() && build_device() && run_program();
    if (!checkpoints_.finish(diag_) || !ran) {
      // The trace up to there is what one needs then.
      if (host_device_ != nullptr && write_traces() && !o_.quiet) std::cerr << notes_;
      return fail();
    }
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    collect_figures();
    judge_leftovers();
    CS_CHECK(!ended_well() || report_.utilisation <= 1,
             "PEs did more work than their peak rate allows in these cycles");
    if (!keep_outputs() || !write_traces() || !write_state(o_, device_->engine(), diag_)) return fail();
    if (ended_well() && (!add_other_runs() || cli::interrupted())) return fail();
    if (network_) sim::add_training(report_, device_->engine());
    reply_.end_progress();
    const int code = checkpoints_.exit_code(exit_code(), reply_);
    if (!o_.report.empty() && !write_report(o_, record(code), report_, diag_)) return fail();
    print();
    return code;
  }

 private:
  int fail() {
    reply_.show(diag_);
    if (cli::interrupted()) reply_.error("interrupted");
    return cli::interrupted() ? kInterrupted : kInputError;
  }
  bool load();
  bool read_inputs();
  bool build_device();
  bool is_model() const { return runs_by_itself(loaded_.program); }
  bool run_program() { return is_model() ? run_network() : run_exports(); }
  bool run_network();
  bool run_exports();
  void collect_figures();
  void judge_leftovers();
  bool keep_outputs();
  bool write_traces();
  bool add_other_runs();
  bool allowed(const std::string& fault);
  bool ended_well() const;
  int exit_code() const;
  sim::RunRecord record(int code) const;
  void print() const;
  int iterations() const;
  int samples_to_run();

  const SimOptions& o_;
  std::string command_;
  cli::Reply& reply_;
  Progress progress_;
  std::string usage_error_;
  Traces traces_;
  PrintLog print_;
  SimulationCheckpoints checkpoints_;
  Diag diag_;
  MappedProgram loaded_;
  Machine machine_;
  std::vector<NamedArray> inputs_, evaluation_, outputs_;
  std::vector<bool> evaluates_;  // each step: whether it trains nothing
  std::optional<std::vector<NamedArray>> expected_;
  std::unique_ptr<SimDevice> device_;
  Device* host_device_ = nullptr;  // the same as the host's side of the run sees it
  std::unique_ptr<sim::TimelineSampler> sampler_;
  std::unique_ptr<sim::WaitTracker> tracker_;
  std::unique_ptr<sim::Profile> profile_;
  std::optional<ModelRunResult> network_;
  Checkpoint checkpoint_;  // training: what it goes on from, then what it has come to
  std::optional<LaunchRun> launches_;
  RunStatus status_;
  std::vector<std::pair<std::string, uint64_t>> allowed_;
  sim::RunReport report_;
  std::string notes_;
  double seconds_ = 0;
  int round_of_other_ = 1;  // samples until all copies of the network of --against have had one
};

bool Simulation::load() {
  if (!load_to_run(o_, loaded_, machine_, diag_)) return false;
  Diag later;  // what is wrong with the other program is reported when it is run
  const auto other = o_.against.empty() ? std::nullopt : read_program(o_.against, later);
  if (other && other->program.host)
    round_of_other_ = copies_over_samples(*other->program.host, machine_);
  if (!options_fit(o_, loaded_.program, diag_)) return false;
  if (!o_.state_in.empty()) {
    auto checkpoint = read_checkpoint(o_.state_in, *loaded_.program.host, diag_);
    if (!checkpoint) return false;
    checkpoint_ = std::move(*checkpoint);
  }
  return read_inputs();
}

bool Simulation::read_inputs() {
  if (const std::string& file = o_.data.empty() ? o_.inputs : o_.data; !file.empty()) {
    auto arrays = read_npz(file, diag_);
    if (!arrays) return false;
    inputs_ = std::move(*arrays);
    if (is_model() && runs_in_steps(*loaded_.program.host) && !slice_data(*loaded_.program.host, inputs_, diag_))
      return false;
  }
  if (!o_.eval_data.empty() && !read_evaluation(o_, *loaded_.program.host, evaluation_, diag_)) return false;
  if (o_.data.empty() && !o_.eval_data.empty()) {
    inputs_ = evaluation_;
  } else if (o_.data.empty() && o_.inputs.empty() && is_model()) {
    inputs_ = random_inputs(*loaded_.program.host, std::max(1, iterations()), o_.seed);
  }
  if (!o_.expect.empty()) expected_ = read_npz(o_.expect, diag_);
  return o_.expect.empty() || expected_;
}

// 0: as many samples as the inputs hold.
int Simulation::iterations() const {
  if (o_.iterations > 0 || o_.report.empty() || !is_model()) return o_.iterations;
  return std::max(kReportSamples, 4 * std::max(round_of_other_, copies_over_samples(*loaded_.program.host, machine_)));
}

int Simulation::samples_to_run() {
  Diag later;  // what is wrong with the inputs is reported by the run
  const HostPart& host = *loaded_.program.host;
  const int steps = iterations() > 0 ? iterations() : samples_in(host, inputs_, later);
  if (o_.eval_data.empty()) return steps;
  evaluates_ = evaluating_steps(o_.data.empty() ? 0 : steps, samples_in(host, evaluation_, later), o_.eval_every);
  return int(evaluates_.size());
}

bool Simulation::build_device() {
  SimDeviceOptions options;
  options.engine = {.block_width = o_.block_width, .block_height = o_.block_height, .threads = o_.threads,
                    .allow = o_.allow, .ranks = o_.with};
  if (!traces_.prepare(loaded_.program, machine_, options.shell, diag_)) return false;
  if (o_.max_cycles > 0) options.max_cycles = o_.max_cycles;
  options.max_seconds = o_.max_seconds;
  options.interrupted = &cli::interrupted();
  progress::stage("", 0, 1);
  if (is_model()) {
    progress_.expect(words_to_come(loaded_.program, samples_to_run()));
    if (has_states(*loaded_.program.host)) progress_.follow(loss_port(loaded_.program));
  }
  options.progress = [this](Cycle now) { progress_(*device_, now); };
  // What is counted event by event begins with the first cycle or not at all.
  const bool waits = !o_.report.empty() && !o_.no_waits && o_.restore.empty();
  if (waits && is_model()) {
    tracker_ = std::make_unique<sim::WaitTracker>(loaded_.program, machine_);
    traces_.add(tracker_.get());
  }
  if (waits && (!is_model() || has_copies(*loaded_.program.host))) {
    profile_ = std::make_unique<sim::Profile>(loaded_.program);
    traces_.add(profile_.get());
  }
  checkpoints_.prepare(options);
  device_ = std::make_unique<SimDevice>(machine_, options);
  device_->engine().set_trace(traces_.sink());
  device_->engine().set_print(print_.sink());
  if (device_->load(loaded_.program, loaded_.weights, diag_)) host_device_ = checkpoints_.start(*device_, diag_);
  if (host_device_ == nullptr) return false;
  if (!o_.report.empty() && o_.restore.empty()) {
    sampler_ = std::make_unique<sim::TimelineSampler>(device_->engine());
    traces_.attach(device_->shell(), device_->engine(), sampler_->first(), [this] { return sampler_->sample(); });
  } else {
    traces_.attach(device_->shell(), device_->engine());
  }
  return true;
}

bool Simulation::run_network() {
  const ModelRunOptions options{.samples = o_.eval_data.empty() ? iterations() : samples_to_run(),
                                .states = o_.state_in.empty() ? nullptr : &checkpoint_.states,
                                .steps_before = checkpoint_.steps,
                                .evaluates = evaluates_,
                                .evaluation = &evaluation_};
  if (const auto moved = move_inputs(o_, inputs_, diag_))
    network_ = run_model(*host_device_, loaded_.weights, moved->views, options, diag_);
  if (network_) status_ = network_->status;
  return network_.has_value();
}

bool Simulation::run_exports() {
  const Cycle limit = o_.max_cycles > 0 ? o_.max_cycles : kNever;
  const auto launches = read_launches(o_.launch, diag_);
  if (!launches) return false;
  launches_ = run_launches(*host_device_, *launches, std::max(1, iterations()), inputs_, limit, diag_);
  if (!launches_) return false;
  status_ = launches_->status;
  if (const std::string functions = launchable(loaded_.program);
      launches->empty() && device_->now() == 0 && status_.reason == StopReason::idle && !functions.empty()) {
    diag_.error_at(o_.program, "nothing in this program runs by itself, and no function was launched",
                   "--launch takes, with commas between several: " + functions);
    return false;
  }
  outputs_ = read_exports(*device_);
  return true;
}

void Simulation::collect_figures() {
  report_ = sim::collect(device_->engine(), std::max(device_->now(), network_ ? network_->cycles : 0));
  if (sampler_) report_.timeline = sampler_->finish();
  if (network_) {
    report_.evaluations = tell_apart(*loaded_.program.host, *network_, evaluates_, checkpoint_);
    outputs_ = network_->outputs;
    sim::add_model_run(report_, *loaded_.program.host, machine_, *network_);
  }
  if (profile_) {
    profile_->end();
    sim::add_profile(report_, *profile_);
  }
  if (!is_model() || has_copies(*loaded_.program.host)) sim::add_tiles(report_, device_->engine());
  if (tracker_) {
    tracker_->end();
    sim::add_waits(report_, *tracker_);
    if (!has_copies(*loaded_.program.host) && network_->status.reason == StopReason::condition)
      sim::add_critical_path(report_, device_->engine(), *network_, *tracker_);
  }
  const bool streamed = is_model() && !has_copies(*loaded_.program.host);
  if (streamed && samples_to_run() <= report_.copies) sim::begin_with_input(report_, device_->engine());
  if (launches_) {
    report_.iterations = launches_->rounds;
    report_.sample_end = launches_->end;
    report_.launches = launches_->spans;
    report_.host_call_seconds = launches_->host_seconds;
  }
  sim::add_classes(report_, loaded_.program);
  report_.status = status_;
  report_.status.now = device_->now();
  report_.simulator = {seconds_, peak_memory_mb(), o_.threads, report_.simulator.memory};
  report_.config = config_text(o_, machine_);
}

bool Simulation::allowed(const std::string& fault) {
  if (std::find(o_.allow.begin(), o_.allow.end(), fault) == o_.allow.end()) return false;
  for (auto& [name, count] : allowed_)
    if (name == fault) return ++count, true;
  allowed_.emplace_back(fault, 1);
  return true;
}

// After a good end the fabric is left alone until it is quiet; wavelets that nobody took are a fault.
void Simulation::judge_leftovers() {
  if (!status_.fault.empty() && allowed(status_.fault)) {
    status_.reason = StopReason::condition;
    status_.fault.clear();
  }
  if (ended_well()) {
    device_->shell().set_sampler(kNever, {});
    const Cycle end = device_->now();
    device_->run({.cycle = end + std::max<Cycle>(end, 100'000)});
    // The weights of the next step are under way.
    const std::string left = is_model() && keeps_states(*loaded_.program.host) ? "" : device_->leftovers();
    if (!left.empty() && !allowed("leftover-wavelets")) {
      status_.reason = StopReason::fault;
      status_.fault = "leftover-wavelets";
      status_.message = left;
    }
  }
  for (const std::string_view name : sim::allowable_faults())
    if (const uint64_t count = device_->engine().allowed(std::string(name)))
      allowed_.emplace_back(name, count);
  status_.now = report_.status.now;
  report_.status = status_;
  report_.allowed = allowed_;
}

bool Simulation::ended_well() const {
  return status_.fault.empty() &&
         (status_.reason == StopReason::condition || status_.reason == StopReason::idle);
}

bool Simulation::keep_outputs() {
  if (expected_ && ended_well())
    report_.check = check_outputs(loaded_.program, outputs_, *expected_, std::max(1, report_.iterations));
  if (!o_.state_out.empty() && ended_well() && !write_checkpoint(o_.state_out, checkpoint_, diag_))
    return false;
  return o_.outputs.empty() || write_npz(o_.outputs, outputs_, diag_);
}

bool Simulation::write_traces() {
  if (network_) traces_.add_host(network_->host_spans);
  traces_.add_launches(report_.launches);
  device_->engine().set_trace(nullptr);
  device_->shell().close_waveform();
  return traces_.write(diag_, notes_);
}

// Runs in processes of their own: one sample alone (in each copy of the network) for the kernels' cycles, counterparts,
// the program to compare with.
bool Simulation::add_other_runs() {
  if (network_ && !o_.child && report_.iterations > report_.copies) {
    std::vector<std::string> arguments{"--child", "--iterations", std::to_string(report_.copies), "--quiet"};
    if (!o_.inputs.empty()) arguments.insert(arguments.end(), {"--inputs", o_.inputs});
    if (!o_.data.empty()) arguments.insert(arguments.end(), {"--data", o_.data});
    const ChildRun one = run_child_sim(o_, o_.program, arguments);
    if (one.exit_code != kOk) {
      diag_.error_at(o_.program, "a run of one sample, which gives the cycles of each kernel, failed",
                     one.error);
      return false;
    }
    sim::add_kernel_cycles(report_, kernel_spans(one.stats));
  }
  if (!o_.report.empty() && network_) {
    run_baselines(o_, report_);
    run_advice(o_, loaded_.program, machine_, {inputs_, outputs_}, report_);
  }
  return o_.against.empty() || run_against(o_, loaded_.program, outputs_, report_, diag_);
}

int Simulation::exit_code() const {
  if (status_.reason == StopReason::interrupted) return kInterrupted;
  if (!ended_well()) return kSimulatedFailure;
  return report_.check && !report_.check->ok ? kDiffers : kOk;
}

sim::RunRecord Simulation::record(int code) const {
  sim::RunRecord r = run_record(o_, loaded_.program.name, command_, code, seconds_);
  r.seed = o_.seed;
  return r;
}

void Simulation::print() const {
  if (!status_.fault.empty())
    reply_.error(fmt::format("{} at cycle {}\n{}", status_.fault, report_.status.now, status_.message));
  if (status_.reason == StopReason::interrupted)
    reply_.error(fmt::format("interrupted at cycle {}", report_.status.now));
  if (report_.check && !report_.check->ok) reply_.error("results differ: " + report_.check->mismatch);
  if (o_.json)
    reply_.object(sim::stats_json(report_));
  else
    reply_.text(o_.quiet ? sim::one_line(report_) : sim::summary(report_));
  std::ostream& talk = o_.json ? std::cerr : std::cout;
  if (o_.quiet) return;
  talk << notes_ << checkpoints_.note();
  if (!o_.report.empty()) talk << "report: " << o_.report << "/report.html\n";
}

}  // namespace

int simulate(const SimOptions& o, const std::string& command, cli::Reply& reply) {
  return Simulation(o, command, reply).run();
}

}  // namespace cs

// The options as times, and the device between the host's side and the simulation.
#include "tools/cs-sim/checkpoint.h"

#include <fmt/format.h>

#include <charconv>

#include "simulator/engine/simulation_file.h"

namespace cs {
namespace {

bool read_number(std::string_view text, auto& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

// FILE, FILE@CYCLE; N cycles, or N and "s" for seconds.
SimulationCheckpoints::SimulationCheckpoints(const SimOptions& o, std::string& error) : o_(o), file_(o.checkpoint) {
  const size_t at = file_.rfind('@');
  if (at != std::string::npos && at > 0 && read_number(std::string_view(file_).substr(at + 1), at_)) file_.resize(at);
  const std::string_view every = o.checkpoint_every;
  if (every.empty()) return;
  const bool seconds = every.back() == 's';
  const bool good = seconds ? read_number(every.substr(0, every.size() - 1), every_seconds_) && every_seconds_ > 0
                            : read_number(every, every_) && every_ > 0;
  if (!good && error.empty())
    error = fmt::format("--checkpoint-every must be a number of cycles, or of seconds as in 600s, got '{}'", every);
  if (every_ > 0 && at_ == kNever) at_ = every_;
}

void SimulationCheckpoints::prepare(SimDeviceOptions& options) {
  if (file_.empty()) return;
  options.checkpoints = {at_, every_, every_seconds_, [this] { write(); }};
}

Device* SimulationCheckpoints::start(SimDevice& device, Diag& diag) {
  device_ = &device;
  if (file_.empty() && o_.restore.empty()) return &device;
  journal_ = std::make_unique<JournalDevice>(device);
  // One that waits for no cycle is of wherever the run has to stop before its end.
  if (!file_.empty() && (o_.checkpoint == file_ || every_ > 0 || every_seconds_ > 0))
    journal_->at_early_end(o_.max_cycles > 0 ? o_.max_cycles : kNever, [this] { write(); });
  if (o_.restore.empty()) return journal_.get();
  auto host = sim::read_simulation(o_.restore, device.engine(), diag);
  if (!host) return nullptr;
  if (journal_->replay(std::move(*host))) {
    device.skip_checkpoints(device.now());
    return journal_.get();
  }
  diag.error_at(o_.restore, "is damaged: it lacks the host's side of the simulation");
  return nullptr;
}

void SimulationCheckpoints::write() {
  Diag diag;
  if (sim::write_simulation(file_, device_->engine(), journal_->bytes(), diag))
    last_ = device_->now();
  else if (failed_.ok())
    failed_ = std::move(diag);
}

bool SimulationCheckpoints::finish(Diag& diag) {
  if (device_ != nullptr) device_->end_checkpoints();
  if (!journal_ || (journal_->problem().empty() && !journal_->replaying())) return true;
  const std::string& problem = journal_->problem();
  diag.error_at(o_.restore, "is of a run that did something else: " +
                                (problem.empty() ? "this one is over before the checkpoint" : problem),
                "give the same program, --inputs, --data, --launch, --iterations and --seed as there");
  return false;
}

int SimulationCheckpoints::exit_code(int of_the_run, cli::Reply& reply) const {
  reply.show(failed_);
  return of_the_run == kOk && !failed_.ok() ? kInputError : of_the_run;
}

std::string SimulationCheckpoints::note() const {
  if (file_.empty()) return "";
  return last_ == kNever ? "checkpoint: none, the run was over before\n"
                         : fmt::format("checkpoint: {}, of cycle {}\n", file_, last_);
}

}  // namespace cs

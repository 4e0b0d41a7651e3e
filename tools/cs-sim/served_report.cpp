// As simulate.cpp collects and writes, without what only a host part knows.
#include "tools/cs-sim/served_report.h"

#include "simulator/report/collect.h"
#include "simulator/report/cycle_classes.h"
#include "simulator/report/launches.h"
#include "tools/cs-sim/report_files.h"
#include "tools/cs-sim/state_file.h"

namespace cs {
namespace {

// How the run stood when it was left.
RunStatus status_of(const sim::Engine& e) {
  if (e.faulted()) return e.fault();
  if (e.idle() && e.commands_pending() > 0)
    return {StopReason::deadlock, e.now(), "deadlock", e.deadlock_report()};
  return {e.idle() ? StopReason::idle : StopReason::condition, e.now(), "", ""};
}

}  // namespace

void ServedReport::listen(const Program& program, Traces& traces) {
  if (o_.report.empty() || o_.no_waits) return;
  profile_ = std::make_unique<sim::Profile>(program);
  traces.add(profile_.get());
}

void ServedReport::attach(SimDevice& device, Traces& traces) {
  if (o_.report.empty()) return traces.attach(device.shell(), device.engine());
  sampler_ = std::make_unique<sim::TimelineSampler>(device.engine());
  traces.attach(device.shell(), device.engine(), sampler_->first(), [this] { return sampler_->sample(); });
}

bool ServedReport::write(SimDevice& device, Diag& diag) {
  if (!write_state(o_, device.engine(), diag)) return false;
  if (o_.report.empty()) return true;
  const sim::Engine& engine = device.engine();
  sim::RunReport report = sim::collect(engine, engine.now());
  report.timeline = sampler_->finish();
  report.status = status_of(engine);
  report.launches = engine.launches();
  sim::add_tiles(report, engine);
  if (profile_) sim::add_profile(report, *profile_);
  sim::add_classes(report, engine.program());
  for (const std::string_view name : sim::allowable_faults())
    if (const uint64_t count = engine.allowed(std::string(name))) report.allowed.emplace_back(name, count);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  report.simulator = {seconds, peak_memory_mb(), o_.threads, report.simulator.memory};
  report.config = config_text(o_, engine.machine());
  const int code = report.status.fault.empty() ? kOk : kSimulatedFailure;
  return write_report(
      o_, run_record(o_, engine.program().name, "cs-sim --serve " + o_.program, code, seconds), report, diag);
}

}  // namespace cs

// How far an activation goes: to the end of the request, to the next sample, or cycle by cycle.
#include "simulator/systemc/driven_wafer.h"

#include <algorithm>
#include <chrono>

namespace cs::sim {
namespace {

constexpr double kCycleIsOneNs = 1000;  // ps

}  // namespace

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
DrivenWafer::DrivenWafer(sc_core::sc_module_name name, Engine& engine, const ShellOptions& options)
    : WaferModule(name, engine, {.period_ps = kCycleIsOneNs}), waveform_(engine, options) {}

void DrivenWafer::set_sampler(Cycle first, std::function<Cycle()> sampler) {
  sampler_ = std::move(sampler);
  next_sample_ = sampler_ ? first : kNever;
}

void DrivenWafer::run(const ShellRequest& request) {
  request_ = request;
  plan_at(engine_.now());
  sc_core::sc_start();
}

bool DrivenWafer::finished() const {
  const Cycle end = std::min(request_.target, request_.limit);
  if (engine_.now() >= end || engine_.faulted()) return true;
  if (request_.stop && request_.stop()) return true;
  // Nothing can happen: without a target there is nothing to wait for.
  return engine_.idle() && request_.target == kNever;
}

bool DrivenWafer::held() {
  if (engine_.now() >= next_sample_) next_sample_ = sampler_();
  if (!finished()) return false;
  sc_core::sc_pause();
  return true;
}

// Up to where the engine may go in one activation.
Cycle DrivenWafer::stretch_end() const {
  const Cycle now = engine_.now();
  const Cycle limit = std::min({request_.target, request_.limit, next_sample_});
  const bool probed = waveform_.open() && now < waveform_.options().window_end;
  if (!observed() && !request_.every_cycle) {
    if (!probed) return std::min(limit, now + stretch_);
    const Cycle begin = waveform_.options().window_begin;
    if (now < begin) return std::min({limit, begin, now + stretch_});
  }
  const Cycle event = engine_.next_event();
  if (event == kNever) return std::min(limit, now + stretch_);
  // A cycle with events alone, so that what is published belongs to it; dead time before it in one go.
  return std::min(limit, event > now ? event : now + 1);
}

// Nobody looks at PEs before this cycle: only the engine's clock stops at the end of a stretch. A run that is
// interrupted inside may leave cores a little ahead of it.
Cycle DrivenWafer::unseen_until() const {
  const Cycle now = engine_.now(), limit = std::min({request_.target, request_.limit, next_sample_});
  if (observed() || request_.every_cycle) return now;
  if (!waveform_.open() || now >= waveform_.options().window_end) return limit;
  return now < waveform_.options().window_begin ? std::min(limit, waveform_.options().window_begin) : now;
}

// Stretches of a few milliseconds: SystemC costs nothing then, and a user's interrupt is seen at once. Where
// a stretch ends has no influence on the simulation.
void DrivenWafer::adapt_stretch(double seconds) {
  if (seconds < 0.005) stretch_ = std::min<Cycle>(2 * stretch_, Cycle(1) << 20);
  if (seconds > 0.05) stretch_ = std::max<Cycle>(stretch_ / 2, 1);
}

void DrivenWafer::step() {
  const auto start = std::chrono::steady_clock::now();
  // Without a target the run ends with its last event, wherever a stretch would end.
  engine_.step(stretch_end(), request_.target != kNever, unseen_until());
  adapt_stretch(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

void DrivenWafer::after_step() {
  if (engine_.now() > 0 && waveform_.shows(engine_.now() - 1)) waveform_.update();
}

}  // namespace cs::sim

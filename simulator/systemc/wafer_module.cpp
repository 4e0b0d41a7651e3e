// The wafer's SC_METHOD: step, publish, next_trigger. See the header for the order of things.
#include "simulator/systemc/wafer_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace cs::sim {
namespace {

sc_core::sc_time cycles_to_time(Cycle cycles) { return sc_core::sc_time(double(cycles), sc_core::SC_NS); }

}  // namespace

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
WaferModule::WaferModule(sc_core::sc_module_name name, Engine& engine, const ShellOptions& options)
    : sc_module(name),
      engine_(engine),
      options_(options),
      columns_(engine.block_columns()),
      rows_(engine.block_rows()) {
  blocks_.reserve(size_t(columns_) * size_t(rows_));
  for (int row = 0; row < rows_; ++row)
    for (int column = 0; column < columns_; ++column)
      blocks_.push_back(std::make_unique<BlockModule>(fmt::format("block_{}_{}", column, row).c_str(),
                                                      engine.block_rect(column, row)));
  SC_METHOD(advance);
  sensitive << resume_;
  dont_initialize();
  if (!options_.waveform.empty()) open_waveform();
}

WaferModule::~WaferModule() { close_waveform(); }

void WaferModule::open_waveform() {
  waveform_ = sc_core::sc_create_vcd_trace_file(options_.waveform.c_str());
  waveform_->set_time_unit(1, sc_core::SC_NS);
  sc_core::sc_write_comment(waveform_,
                            "1 ns is one cycle; task: index into the tile program, -1 none, see cs-objdump");
  for (const Coord& pe : options_.probes) {
    Probe& probe = probes_.emplace_back();
    probe.pe = pe;
    read_probe(probe);
    const std::string prefix = fmt::format("pe_{}_{}.", pe.x, pe.y);
    sc_core::sc_trace(waveform_, probe.running, prefix + "running");
    sc_core::sc_trace(waveform_, probe.task, prefix + "task");
    sc_core::sc_trace(waveform_, probe.microthreads, prefix + "microthreads",
                      engine_.machine().core.microthreads);
    for (size_t q = 0; q < probe.input_fill.size(); ++q)
      sc_core::sc_trace(waveform_, probe.input_fill[q], prefix + fmt::format("input_queue_{}", q));
    for (size_t q = 0; q < probe.output_fill.size(); ++q)
      sc_core::sc_trace(waveform_, probe.output_fill[q], prefix + fmt::format("output_queue_{}", q));
  }
}

void WaferModule::close_waveform() {
  if (waveform_ != nullptr) sc_core::sc_close_vcd_trace_file(waveform_);
  waveform_ = nullptr;
}

// Copies into the same vectors: their elements are what the waveform looks at.
void WaferModule::read_probe(Probe& probe) const {
  const PeProbe now = engine_.probe(probe.pe);
  probe.running = now.running;
  probe.task = now.running ? now.task : -1;
  probe.microthreads = now.microthreads;
  if (!started_) {
    probe.input_fill.resize(engine_.machine().queues.input_words.size());
    probe.output_fill.resize(engine_.machine().queues.output_words.size());
  }
  for (size_t q = 0; q < std::min(now.input_fill.size(), probe.input_fill.size()); ++q)
    probe.input_fill[q] = now.input_fill[q];
  for (size_t q = 0; q < std::min(now.output_fill.size(), probe.output_fill.size()); ++q)
    probe.output_fill[q] = now.output_fill[q];
}

void WaferModule::set_sampler(Cycle first, std::function<Cycle()> sampler) {
  sampler_ = std::move(sampler);
  next_sample_ = sampler_ ? first : kNever;
}

void WaferModule::run(const ShellRequest& request) {
  request_ = request;
  resume_.notify(sc_core::SC_ZERO_TIME);
  sc_core::sc_start();
}

bool WaferModule::finished() const {
  const Cycle end = std::min(request_.target, request_.limit);
  if (engine_.now() >= end || engine_.faulted()) return true;
  if (request_.stop && request_.stop()) return true;
  // Nothing can happen: without a target there is nothing to wait for.
  return engine_.idle() && request_.target == kNever;
}

// Up to where the engine may go in one activation.
Cycle WaferModule::stretch_end() const {
  const Cycle now = engine_.now();
  const Cycle limit = std::min({request_.target, request_.limit, next_sample_});
  const bool probed = waveform_ != nullptr && now < options_.window_end;
  if (observed_.empty() && !request_.every_cycle) {
    if (!probed) return std::min(limit, now + stretch_);
    if (now < options_.window_begin) return std::min({limit, options_.window_begin, now + stretch_});
  }
  const Cycle event = engine_.next_event();
  if (event == kNever) return std::min(limit, now + stretch_);
  // A cycle with events alone, so that what is published belongs to it; dead time before it in one go.
  return std::min(limit, event > now ? event : now + 1);
}

// Nobody looks at PEs before this cycle: only the engine's clock stops at the end of a stretch. A run that is
// interrupted inside may leave cores a little ahead of it.
Cycle WaferModule::unseen_until() const {
  const Cycle now = engine_.now(), limit = std::min({request_.target, request_.limit, next_sample_});
  if (!observed_.empty() || request_.every_cycle) return now;
  if (waveform_ == nullptr || now >= options_.window_end) return limit;
  return now < options_.window_begin ? std::min(limit, options_.window_begin) : now;
}

// Stretches of a few milliseconds: SystemC costs nothing then, and a user's interrupt is seen at once. Where
// a stretch ends has no influence on the simulation.
void WaferModule::adapt_stretch(double seconds) {
  if (seconds < 0.005) stretch_ = std::min<Cycle>(2 * stretch_, Cycle(1) << 20);
  if (seconds > 0.05) stretch_ = std::max<Cycle>(stretch_ / 2, 1);
}

void WaferModule::publish(Cycle cycle) {
  for (BlockModule* block : observed_) block->publish(engine_, cycle);
  if (waveform_ == nullptr || cycle < options_.window_begin || cycle >= options_.window_end) return;
  for (Probe& probe : probes_) read_probe(probe);
}

void WaferModule::advance() {
  if (!started_) {
    for (const auto& block : blocks_)
      if (block->observed()) observed_.push_back(block.get());
    started_ = true;
  }
  if (engine_.now() >= next_sample_) next_sample_ = sampler_();
  if (finished()) {
    next_trigger(resume_);
    sc_core::sc_pause();
    return;
  }
  const Cycle before = engine_.now();
  const auto start = std::chrono::steady_clock::now();
  // Without a target the run ends with its last event, wherever a stretch would end.
  engine_.step(stretch_end(), request_.target != kNever, unseen_until());
  adapt_stretch(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (engine_.now() > before) publish(engine_.now() - 1);
  next_trigger(cycles_to_time(engine_.now() - before));
}

}  // namespace cs::sim

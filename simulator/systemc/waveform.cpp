// What SystemC's trace file looks at are the fields of the probes.
#include "simulator/systemc/waveform.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cs::sim {

Waveform::Waveform(const Engine& engine, ShellOptions options)
    : engine_(engine), options_(std::move(options)) {
  if (options_.waveform.empty()) return;
  file_ = sc_core::sc_create_vcd_trace_file(options_.waveform.c_str());
  file_->set_time_unit(1, sc_core::SC_NS);
  sc_core::sc_write_comment(file_,
                            "1 ns is one cycle; task: index into the tile program, -1 none, see cs-objdump");
  for (const Coord& pe : options_.probes) begin(probes_.emplace_back(), fmt::format("pe_{}_{}.", pe.x, pe.y));
}

void Waveform::begin(Probe& probe, const std::string& prefix) {
  probe.pe = options_.probes[probes_.size() - 1];
  const Machine& machine = engine_.machine();
  probe.input_fill.resize(machine.queues.input_words.size());
  probe.output_fill.resize(machine.queues.output_words.size());
  read(probe);
  sc_core::sc_trace(file_, probe.running, prefix + "running");
  sc_core::sc_trace(file_, probe.task, prefix + "task");
  sc_core::sc_trace(file_, probe.microthreads, prefix + "microthreads", machine.core.microthreads);
  for (size_t q = 0; q < probe.input_fill.size(); ++q)
    sc_core::sc_trace(file_, probe.input_fill[q], prefix + fmt::format("input_queue_{}", q));
  for (size_t q = 0; q < probe.output_fill.size(); ++q)
    sc_core::sc_trace(file_, probe.output_fill[q], prefix + fmt::format("output_queue_{}", q));
}

void Waveform::close() {
  if (file_ != nullptr) sc_core::sc_close_vcd_trace_file(file_);
  file_ = nullptr;
}

void Waveform::update() {
  for (Probe& probe : probes_) read(probe);
}

// Copies into the same vectors: their elements are what the waveform looks at.
void Waveform::read(Probe& probe) const {
  const PeProbe now = engine_.probe(probe.pe);
  probe.running = now.running;
  probe.task = now.running ? now.task : -1;
  probe.microthreads = now.microthreads;
  for (size_t q = 0; q < std::min(now.input_fill.size(), probe.input_fill.size()); ++q)
    probe.input_fill[q] = now.input_fill[q];
  for (size_t q = 0; q < std::min(now.output_fill.size(), probe.output_fill.size()); ++q)
    probe.output_fill[q] = now.output_fill[q];
}

}  // namespace cs::sim

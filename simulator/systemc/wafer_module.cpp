// One activation: feed, step, drain, plan the next one. See the header for the order of things.
#include "simulator/systemc/wafer_module.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::sim {
namespace {

double period_of(const WaferOptions& options, const Machine& machine) {
  return options.period_ps > 0 ? options.period_ps : 1e6 / machine.clock_mhz;
}

}  // namespace

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
WaferModule::WaferModule(sc_core::sc_module_name name, Engine& engine, const WaferOptions& options)
    : sc_module(name),
      engine_(engine),
      options_(options),
      clock_(period_of(options, engine.machine())),
      columns_(engine.block_columns()),
      rows_(engine.block_rows()),
      memory_("memory", *this, engine) {
  blocks_.reserve(size_t(columns_) * size_t(rows_));
  for (int row = 0; row < rows_; ++row)
    for (int column = 0; column < columns_; ++column)
      blocks_.push_back(std::make_unique<BlockModule>(fmt::format("block_{}_{}", column, row).c_str(),
                                                      engine.block_rect(column, row)));
  news_ |= wake_;
  SC_METHOD(advance);
  sensitive << edge_;
  dont_initialize();
  SC_METHOD(listen);
}

void WaferModule::connect(int port, WaveletInput& input) { inputs_.push_back({port, &input}); }

void WaferModule::connect(int port, WaveletOutput& output) {
  outputs_.push_back({port, &output});
  engine_.keep_controls(port);
  engine_.accept(port, 0);
}

// Never acts itself: edges come first of all that happens at their time.
void WaferModule::listen() {
  if (!begun_) begin();
  plan_at(clock_.edge_after(sc_core::sc_time_stamp()));
  next_trigger(news_);
}

void WaferModule::begin() {
  begun_ = true;
  for (const auto& block : blocks_)
    if (block->observed()) observed_.push_back(block.get());
  for (const Input& i : inputs_) news_ |= i.from->written();
  for (const Output& o : outputs_) news_ |= o.to->taken();
}

void WaferModule::wake() { wake_.notify(sc_core::SC_ZERO_TIME); }

void WaferModule::plan_at(Cycle edge) { edge_.notify(clock_.time_of(edge) - sc_core::sc_time_stamp()); }

void WaferModule::launch(int function_export, std::span<const uint32_t> args) {
  const Cycle edge = std::max(engine_.now(), clock_.edge_after(sc_core::sc_time_stamp()));
  const Rect all{0, 0, engine_.program().fabric_width, engine_.program().fabric_height};
  engine_.launch(function_export, args, all, edge);
  launched_ = true;
  wake();
}

void WaferModule::advance() {
  edge_.cancel();  // what listen() planned before this edge is answered by it
  if (held()) return;
  const Cycle edge = clock_.edge_at(sc_core::sc_time_stamp());
  // Dead time passes, in which nothing can have happened; at the first edge of all, cycle 0.
  if (engine_.now() < edge) engine_.step(edge);
  feed(edge);
  const Cycle before = engine_.now();
  step();
  drain();
  if (engine_.now() > before)
    for (BlockModule* block : observed_) block->publish(engine_, engine_.now() - 1);
  after_step();
  if (launched_ && engine_.commands_pending() == 0) {
    launched_ = false;
    launches_done_.notify(sc_core::SC_ZERO_TIME);
  }
  if (engine_.faulted()) return failed();
  plan();
}

void WaferModule::plan() {
  Cycle next = engine_.next_event();
  for (const Output& o : outputs_) {
    const std::vector<PortEvent>& received = engine_.received(o.port);
    if (o.put < received.size()) next = std::min(next, received[o.put].cycle - 1);
  }
  if (next != kNever) plan_at(std::max(next, engine_.now()));
}

// No more lies between an input and the fabric than what one activation can let in: the rest stays with
// whoever wrote it.
void WaferModule::feed(Cycle edge) {
  for (Input& i : inputs_) {
    while (i.entered < i.sent && engine_.entered(i.port, i.entered) != kNever) ++i.entered;
    for (EdgeWavelet w; i.sent - i.entered < options_.quantum && i.from->take(w); ++i.sent) {
      if (w.control)
        engine_.send_control(i.port, w.data, edge);
      else
        engine_.send(i.port, {&w.data, 1}, edge);
    }
  }
  for (const Output& o : outputs_) {
    const size_t on_the_way = engine_.received(o.port).size() - o.put;
    const size_t room = o.to->room();
    engine_.accept(o.port, o.put + std::max(room, on_the_way));
  }
}

void WaferModule::drain() {
  for (Output& o : outputs_) {
    const std::vector<PortEvent>& received = engine_.received(o.port);
    for (; o.put < received.size() && received[o.put].cycle <= engine_.now(); ++o.put)
      o.to->put({received[o.put].data, received[o.put].control});
  }
}

void WaferModule::failed() {
  if (reported_) return;
  reported_ = true;
  const RunStatus& fault = engine_.fault();
  SC_REPORT_ERROR(("/wafersmith/fault/" + fault.fault).c_str(), fault.message.c_str());
}

void WaferModule::end_of_simulation() {
  if (reported_ || engine_.faulted() || !engine_.idle() || !engine_.blocked()) return;
  for (const Output& o : outputs_)
    if (o.to->room() == 0) return;  // it waits for whoever reads there
  SC_REPORT_WARNING("/wafersmith/deadlock", engine_.deadlock_report().c_str());
}

}  // namespace cs::sim

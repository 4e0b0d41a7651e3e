// The host between cycles, and how long a run goes on.
#include "simulator/systemc/structural/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/systemc/reports.h"
#include "simulator/systemc/structural/fabric.h"
#include "simulator/systemc/structural/refuse.h"

namespace cs::sim::structural {
namespace {

template <class F>
void for_pes(Rect pes, F&& f) {
  for (int y = 0; y < pes.h; ++y)
    for (int x = 0; x < pes.w; ++x) f(Coord{pes.x + x, pes.y + y}, x);
}

}  // namespace

StructuralDevice::StructuralDevice(const Machine& m, StructuralOptions o) : machine_(m), options_(std::move(o)) {}
StructuralDevice::~StructuralDevice() = default;

bool StructuralDevice::load(const Program& p, std::span<const uint8_t> weights, Diag& diag) {
  CS_CHECK(!fabric_, "one process runs one program: SystemC is elaborated once");
  if (!accepts(p, machine_, diag)) return false;
  reports_to_stderr();
  program_ = p;
  watches_.assign(p.ports.size(), 0);
  fabric_ = std::make_unique<Fabric>("wafer", program_, machine_, weights, options_.observer);
  return options_.waveform.empty() || fabric_->trace(options_.waveform, diag);
}

Cycle StructuralDevice::now() const { return fabric_->now(); }

void StructuralDevice::read(Coord c, uint16_t address, std::span<uint8_t> out) {
  std::fill(out.begin(), out.end(), uint8_t(0));
  if (const ProcessingElement* pe = fabric_->at(c)) pe->memory.read(address, out);
}

void StructuralDevice::write(Coord c, uint16_t address, std::span<const uint8_t> in) {
  if (ProcessingElement* pe = fabric_->at(c)) pe->memory.write(address, in);
}

// ---- launches

bool StructuralDevice::launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
                              Diag& diag) {
  const auto has = [&](const TileProgram& t) { return t.function(function) != nullptr; };
  const auto exported = [&](const ExportedName& e) { return e.is_function && e.name == function; };
  if (std::none_of(program_.exports.begin(), program_.exports.end(), exported) ||
      std::none_of(program_.tiles.begin(), program_.tiles.end(), has)) {
    diag.error_at(function, "the program exports no function of this name");
    return false;
  }
  Launch launch;
  launch.args.assign(args.begin(), args.end());
  launch.span.function = function;
  launch.span.issued = std::max(not_before, now());
  const size_t number = fabric_->launches().size();
  for (ProcessingElement* pe : fabric_->all()) {
    const Function* f = pe->tile && pes.contains(pe->at) ? pe->tile->program->function(function) : nullptr;
    if (f == nullptr) continue;
    pe->core->launch(number, int(f - pe->tile->program->functions.data()));
    pe->core->activity().wait_until(launch.span.issued);
    ++launch.span.pes;
  }
  fabric_->launches().push_back(std::move(launch));
  fabric_->disturb();
  return true;
}

std::vector<LaunchSpan> StructuralDevice::launches() {
  std::vector<LaunchSpan> spans;
  for (const Launch& l : fabric_->launches()) spans.push_back(l.span);
  return spans;
}

size_t StructuralDevice::commands_pending() const {
  size_t n = 0;
  for (const ProcessingElement* pe : fabric_->all())
    if (pe->core) n += pe->core->commands_pending();
  return n;
}

// ---- streams

void StructuralDevice::send(int port, std::span<const uint32_t> data, Cycle not_before) {
  if (data.empty()) return;
  fabric_->input(port).chunks.push_back({{data.begin(), data.end()}, not_before});
  fabric_->disturb();
}

const std::vector<PortEvent>& StructuralDevice::received(int port) const { return fabric_->output(port).received; }

Cycle StructuralDevice::entered(int port, size_t i) const {
  const std::vector<Cycle>& entered = fabric_->input(port).entered;
  return i < entered.size() ? entered[i] : kNever;
}

// The rows of the rectangle share the host's ports, the ports its network; the PEs of a row take turns.
template <class Add>
bool StructuralDevice::begin_streams(uint8_t color, Rect pes, bool input, Cycle start, Diag& diag, Add add) {
  const Machine::Host& host = machine_.host;
  const double rows = std::min(pes.h, std::max(1, host.host_ports));
  const double rate = std::min(rows * host.host_wavelets_per_cycle, machine_.system_wavelets_per_cycle());
  const double period = double(pes.w) * pes.h / rate;
  bool good = true;
  for_pes(pes, [&](Coord c, int column) {
    ProcessingElement* pe = fabric_->at(c);
    RampStreams* streams = pe ? pe->streams.get() : nullptr;
    const bool there = streams && (input ? streams->input(color) != nullptr : streams->output(color) != nullptr);
    if (good && !there)
      diag.error_at(fmt::format("stream on color {}", color),
                    fmt::format("PE ({}, {}) does not stream {} the host on it", c.x, c.y, input ? "from" : "to"));
    good = good && there;
    if (!good || !add(*streams)) return;
    streams->set_turns(color, period, double(start) + period * column / pes.w);
    streams->publish(now());
  });
  fabric_->disturb();
  return good;
}

bool StructuralDevice::stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before,
                                 Diag& diag) {
  const size_t per_pe = data.size() / size_t(pes.area());
  const Cycle start = std::max(now(), not_before);
  size_t at = 0;
  return begin_streams(color, pes, true, start, diag, [&](RampStreams& s) {
    const auto words = data.subspan(at, per_pe);
    at += per_pe;
    if (!words.empty()) s.input(color)->chunks.push_back({{words.begin(), words.end()}, start});
    return !words.empty();
  });
}

bool StructuralDevice::stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) {
  const Cycle start = std::max(now(), not_before);
  return begin_streams(color, pes, false, start, diag, [&](RampStreams& s) {
    s.output(color)->limit += per_pe;
    return true;
  });
}

std::vector<std::vector<uint32_t>> StructuralDevice::take_streamed(uint8_t color, Rect pes) {
  std::vector<std::vector<uint32_t>> all;
  for_pes(pes, [&](Coord c, int) {
    std::vector<uint32_t>& words = all.emplace_back();
    ProcessingElement* pe = fabric_->at(c);
    HostOutput* out = pe && pe->streams ? pe->streams->output(color) : nullptr;
    if (out == nullptr) return;
    for (; out->handed < out->received.size(); ++out->handed) words.push_back(out->received[out->handed].data);
  });
  return all;
}

size_t StructuralDevice::stream_words_pending() const {
  size_t n = 0;
  for (const ProcessingElement* pe : fabric_->all())
    if (pe->streams) n += pe->streams->words_pending();
  return n;
}

// ---- time

bool StructuralDevice::condition_holds(const RunUntil& u) const {
  if (now() >= u.cycle) return true;
  if (u.while_active && fabric_->quiet()) return true;
  if (u.commands_done && commands_pending() == 0) return true;
  if (u.streams_done && stream_words_pending() == 0) return true;
  if (u.received_port >= 0 && received(u.received_port).size() >= u.received_count) return true;
  for (size_t port = 0; u.any_watch && port < watches_.size(); ++port)
    if (watches_[port] > 0 && received(int(port)).size() >= watches_[port]) return true;
  return false;
}

RunStatus StructuralDevice::run(const RunUntil& u) {
  CS_CHECK(fabric_ != nullptr, "run before load");
  const Cycle begin = now();
  const bool to_a_cycle = u.cycle < options_.max_cycles && !u.while_active;  // dead time before it passes
  while (!fabric_->fault() && !condition_holds(u) && now() < options_.max_cycles && !interrupted()) {
    if (fabric_->quiet() && !to_a_cycle) break;
    fabric_->cycle();
    if (fabric_->quiet() && !to_a_cycle) fabric_->set_back(std::max(begin, fabric_->end_of_work()));
  }
  RunStatus status;
  status.now = now();
  if (const auto& fault = fabric_->fault()) {
    status.reason = StopReason::fault;
    status.fault = fault->name;
    status.message =
        fmt::format("cycle {}, PE ({}, {}): {}", fault->cycle, fault->pe.x, fault->pe.y, fault->message);
  } else if (condition_holds(u)) {
    status.reason = StopReason::condition;
  } else if (interrupted()) {
    status.reason = StopReason::interrupted;
  } else if (now() >= options_.max_cycles) {
    status.reason = StopReason::max_cycles;
    status.fault = "timeout";
    status.message = fmt::format("not finished after {} cycles (--max-cycles)", options_.max_cycles);
  } else if (blocked()) {
    status.reason = StopReason::deadlock;
    status.fault = "deadlock";
    status.message = who_waits();
  }
  if (u.list_leftovers && status.fault.empty() && fabric_->quiet())
    for (const std::string& line : leftovers()) status.message += line + "\n";
  return status;
}

bool StructuralDevice::blocked() const {
  if (stream_words_pending() != 0) return true;
  for (size_t port = 0; port < program_.ports.size(); ++port)
    if (program_.ports[port].input && fabric_->input(int(port)).words_left() != 0) return true;
  return std::any_of(fabric_->all().begin(), fabric_->all().end(),
                     [](const ProcessingElement* pe) { return pe->core && pe->core->waits(); });
}

std::string StructuralDevice::who_waits() const {
  std::string text = fmt::format("nothing can happen after cycle {}\n", now() == 0 ? 0 : now() - 1);
  size_t lines = 0;
  for (const ProcessingElement* pe : fabric_->all()) {
    if (!pe->core || !pe->core->waits() || ++lines > 12) continue;
    text += fmt::format("  PE ({}, {}): {} launched functions not ended, operations at work: {:#x}\n", pe->at.x,
                        pe->at.y, pe->core->commands_pending(), pe->core->operations.read());
  }
  return text;
}

std::vector<std::string> StructuralDevice::leftovers() const {
  static constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
  std::vector<std::string> lines;
  for (const ProcessingElement* pe : fabric_->all()) {
    for (int color = 0; color < widths::kColors; ++color)
      for (int p = 0; p < kPorts; ++p)
        if (const size_t n = pe->router.waiting(Port(p), color))
          lines.push_back(fmt::format("PE ({}, {}): color {} from {}: {} wavelets", pe->at.x, pe->at.y, color,
                                      kNames[p], n));
    for (const InputQueues::Queue& q : pe->inputs.all())
      if (!q.held.empty())
        lines.push_back(fmt::format("PE ({}, {}): input queue {}, color {}: {} wavelets", pe->at.x, pe->at.y, q.id,
                                    q.color, q.held.size()));
  }
  return lines;
}

uint64_t StructuralDevice::instructions() const {
  uint64_t n = 0;
  for (const ProcessingElement* pe : fabric_->all())
    if (pe->core) n += pe->core->state().instructions;
  return n;
}

}  // namespace cs::sim::structural

// The public module: the program with its edges, an engine, the wafer module inside, and fifos at its ports.
#include "wafersmith/systemc.h"

#include <bit>
#include <map>

#include "runtime/host/exports.h"
#include "runtime/program/crop.h"
#include "simulator/engine/engine_device.h"
#include "simulator/report/collect.h"
#include "simulator/systemc/wafer_module.h"
#include "wafersmith/internal.h"

namespace wafersmith {
namespace {

cs::Port port_of(EdgeStream::Side side) {
  switch (side) {
    case EdgeStream::Side::west:
      return cs::Port::west;
    case EdgeStream::Side::east:
      return cs::Port::east;
    case EdgeStream::Side::north:
      return cs::Port::north;
    default:
      return cs::Port::south;
  }
}

cs::Program program_with(const cs::Program& given, const WaferOptions& options) {
  const Rectangle& b = options.block;
  const bool whole = b.width == 0 && b.height == 0;
  if (!whole && (b.x < 0 || b.y < 0 || b.width < 1 || b.height < 1 || b.x + b.width > given.fabric_width ||
                 b.y + b.height > given.fabric_height))
    throw Error("block " + std::to_string(b.width) + "x" + std::to_string(b.height) + " at (" +
                std::to_string(b.x) + ", " + std::to_string(b.y) + ") is not within the fabric of " +
                std::to_string(given.fabric_width) + "x" + std::to_string(given.fabric_height) + " PEs");
  cs::Program p = whole ? given : cs::crop(given, to_rect(b));
  for (const EdgeStream& e : options.edges) {
    const bool row = e.side == EdgeStream::Side::west || e.side == EdgeStream::Side::east;
    const int count = row ? p.fabric_height : p.fabric_width;
    if (e.position < 0 || e.position >= count || e.color < 0 || e.color > UINT8_MAX)
      throw Error("edge stream " + e.name + ": position " + std::to_string(e.position) + " and color " +
                  std::to_string(e.color) + ", but the edge has " + std::to_string(count) +
                  (row ? " rows" : " columns"));
    for (const cs::HostPort& port : p.ports)
      if (port.name == e.name)
        throw Error("edge stream " + e.name + ": the program has a stream of this name");
    p.ports.push_back({e.name, e.input, port_of(e.side), e.position, uint8_t(e.color)});
  }
  return p;
}

cs::sim::EngineDeviceOptions engine_options(const WaferOptions& options) {
  cs::sim::EngineDeviceOptions out;
  out.engine.threads = options.threads;
  out.engine.allow = options.allow;
  return out;
}

cs::Machine machine_of_program(const cs::Program& program) {
  cs::Diag diag;
  auto machine = cs::program_machine(program, diag);
  if (!machine) refuse(diag);
  return std::move(*machine);
}

class FifoIn : public cs::sim::WaveletInput {
 public:
  explicit FifoIn(Wafer::In& port) : port_(port) {}
  bool take(cs::sim::EdgeWavelet& w) override {
    Wavelet taken;
    if (!port_->nb_read(taken)) return false;
    w = {taken.data, taken.control};
    return true;
  }
  const sc_core::sc_event& written() const override { return port_->data_written_event(); }

 private:
  Wafer::In& port_;
};

class FifoOut : public cs::sim::WaveletOutput {
 public:
  explicit FifoOut(Wafer::Out& port) : port_(port) {}
  size_t room() const override { return size_t(std::max(0, port_->num_free())); }
  void put(const cs::sim::EdgeWavelet& w) override {
    if (!port_->nb_write({w.data, w.control}))
      SC_REPORT_FATAL("/wafersmith/stream", "a fifo has taken less than it had room for");
  }
  const sc_core::sc_event& taken() const override { return port_->data_read_event(); }

 private:
  Wafer::Out& port_;
};

template <class Port>
struct Stream {
  Stream(int index, const std::string& stream_name) : program_port(index), port(stream_name.c_str()) {}
  int program_port;
  Port port;
};

template <class Streams>
std::vector<std::string> names_of(const Streams& streams) {
  std::vector<std::string> names;
  for (const auto& [name, stream] : streams) names.push_back(name);
  return names;
}

template <class Streams>
auto& find_stream(Streams& streams, const std::string& name, const char* kind) {
  const auto at = streams.find(name);
  if (at == streams.end()) {
    std::string all;
    for (const std::string& n : names_of(streams)) all += (all.empty() ? "" : ", ") + n;
    SC_REPORT_FATAL(
        "/wafersmith/elaboration",
        (name + ": no " + kind + " of this name; there " + (all.empty() ? "is none" : "are " + all)).c_str());
  }
  return at->second->port;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Wavelet& w) {
  return out << (w.control ? "control " : "") << w.data;
}

struct Wafer::State {
  State(const Program& given, const WaferOptions& options)
      : data(given.data()),
        machine(machine_of_program(data->program)),
        device(machine, engine_options(options)) {
    cs::Diag diag;
    if (!device.load(program_with(data->program, options), data->weights, diag)) refuse(diag);
    wafer = std::make_unique<cs::sim::WaferModule>(
        "fabric", device.engine(),
        cs::sim::WaferOptions{.quantum = std::max<uint64_t>(1, options.quantum_cycles)});
    const auto& ports = device.program().ports;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].input)
        inputs.emplace(ports[i].name, std::make_unique<Stream<In>>(int(i), ports[i].name));
      else
        outputs.emplace(ports[i].name, std::make_unique<Stream<Out>>(int(i), ports[i].name));
    }
  }

  std::shared_ptr<const Program::Data> data;
  cs::Machine machine;
  mutable cs::sim::EngineDevice device;
  std::unique_ptr<cs::sim::WaferModule> wafer;
  std::map<std::string, std::unique_ptr<Stream<In>>> inputs;
  std::map<std::string, std::unique_ptr<Stream<Out>>> outputs;
  std::vector<std::unique_ptr<FifoIn>> fifos_in;
  std::vector<std::unique_ptr<FifoOut>> fifos_out;
};

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
Wafer::Wafer(sc_core::sc_module_name name, const Program& program, const WaferOptions& options)
    : sc_module(name), memory("memory"), state_(std::make_unique<State>(program, options)) {
  memory.bind(state_->wafer->memory().socket);
}

Wafer::~Wafer() = default;

std::vector<std::string> Wafer::inputs() const { return names_of(state_->inputs); }
std::vector<std::string> Wafer::outputs() const { return names_of(state_->outputs); }
Wafer::In& Wafer::in(const std::string& stream) {
  return find_stream(state_->inputs, stream, "input stream");
}
Wafer::Out& Wafer::out(const std::string& stream) {
  return find_stream(state_->outputs, stream, "output stream");
}

// Which streams somebody has bound is known when elaboration ends; those connect to the wafer.
void Wafer::before_end_of_elaboration() {
  for (auto& [name, stream] : state_->inputs) {
    if (stream->port.bind_count() == 0) continue;
    state_->fifos_in.push_back(std::make_unique<FifoIn>(stream->port));
    state_->wafer->connect(stream->program_port, *state_->fifos_in.back());
  }
  for (auto& [name, stream] : state_->outputs) {
    if (stream->port.bind_count() == 0) continue;
    state_->fifos_out.push_back(std::make_unique<FifoOut>(stream->port));
    state_->wafer->connect(stream->program_port, *state_->fifos_out.back());
  }
}

uint64_t Wafer::address(int x, int y, uint32_t byte) const {
  return cs::sim::MemoryTarget::address(state_->device.program(), {x, y}, byte);
}

Wafer::Place Wafer::place(const std::string& variable, int x, int y) const {
  const cs::Program& p = state_->device.program();
  const cs::Coord pe{p.user.x + x, p.user.y + y};
  for (const cs::TileRect& r : p.rects) {
    if (!r.rect.contains(pe)) continue;
    if (const cs::Symbol* s = p.tiles[r.tile].symbol(variable))
      return {address(pe.x, pe.y, s->address), s->elements * uint32_t(cs::data_type_bytes(s->type))};
  }
  throw Error(variable + ": no exported variable of this name on the PE at (" + std::to_string(x) + ", " +
              std::to_string(y) + ") of the program");
}

void Wafer::launch(const std::string& function, const std::vector<Session::Argument>& arguments) {
  const auto& exports = state_->device.program().exports;
  std::vector<uint32_t> words;
  for (const Session::Argument& a : arguments)
    words.push_back(std::visit([](auto v) { return std::bit_cast<uint32_t>(v); }, a));
  for (size_t i = 0; i < exports.size(); ++i)
    if (exports[i].is_function && exports[i].name == function) return state_->wafer->launch(int(i), words);
  throw Error(function + ": the program exports no function of this name");
}

const sc_core::sc_event& Wafer::launches_done() const { return state_->wafer->launches_done(); }

Array Wafer::read(const std::string& variable) const {
  auto array = cs::read_export(state_->device, variable);
  if (!array) throw Error(variable + ": no exported variable of this name");
  return from_named(std::move(*array));
}

sc_core::sc_time Wafer::cycle_time() const { return state_->wafer->clock().period(); }
uint64_t Wafer::cycle() const { return state_->device.now(); }

Statistics Wafer::statistics() const {
  cs::sim::RunReport report = cs::sim::collect(state_->device.engine(), state_->device.now());
  report.launches = state_->device.launches();
  return figures_of(report);
}

}  // namespace wafersmith

// The native part of the Python host API: a simulation in a process of its own, driven through a Session.
//
// Everything here raises RuntimeError with the whole message of the simulator. Calls that let simulated time
// pass release Python's lock. The vendor's names and habits are in the Python files.
#include <iostream>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include "runtime/host/child_device.h"
#include "runtime/host/exports.h"
#include "runtime/host/session.h"

namespace py = pybind11;

namespace cs {
namespace {

using Words = py::array_t<uint32_t, py::array::c_style | py::array::forcecast>;
using RectTuple = std::tuple<int, int, int, int>;

Rect to_rect(const RectTuple& r) { return {std::get<0>(r), std::get<1>(r), std::get<2>(r), std::get<3>(r)}; }

class Simulation {
 public:
  Simulation(const std::string& folder, const std::string& cs_sim,
             const std::vector<std::string>& arguments) {
    Diag diag;
    {
      py::gil_scoped_release release;
      device_ = ChildDevice::open({cs_sim, folder, arguments}, diag);
    }
    if (!device_) fail(diag);
    session_ = std::make_unique<Session>(*device_);
  }

  // Commands are begun in order; each gives a ticket for wait() and take().
  size_t begin_copy_to(const std::string& symbol, RectTuple pes, uint32_t elements, const Words& data,
                       bool row_major, const std::string& spread, std::pair<int, int> step) {
    const auto kind = spread == "rows"      ? HostCommand::Kind::copy_to_rows
                      : spread == "columns" ? HostCommand::Kind::copy_to_columns
                                            : HostCommand::Kind::copy_to;
    return begin({kind, symbol, 0, to_rect(pes), elements, order(row_major), list(data), step.first, step.second});
  }
  size_t begin_copy_from(const std::string& symbol, RectTuple pes, uint32_t elements, bool row_major) {
    return begin({HostCommand::Kind::copy_from, symbol, 0, to_rect(pes), elements, order(row_major), {}});
  }
  size_t begin_launch(const std::string& function, const std::vector<uint32_t>& args) {
    return begin({HostCommand::Kind::launch, function, 0, {}, 0, {}, args});
  }
  size_t begin_stream_to(int color, RectTuple pes, uint32_t elements, const Words& data, bool row_major) {
    return begin({HostCommand::Kind::stream_to, {}, color_id(color), to_rect(pes), elements, order(row_major),
                  list(data)});
  }
  size_t begin_stream_from(int color, RectTuple pes, uint32_t elements, bool row_major) {
    return begin({HostCommand::Kind::stream_from, {}, color_id(color), to_rect(pes), elements, order(row_major), {}});
  }
  void wait(size_t t) {
    call([&](Diag& diag) { return session_->wait(Session::Ticket(t), diag); });
  }
  Words take(size_t t) { return array(session_->take(Session::Ticket(t))); }
  // Until nothing can happen any more without the host, or for some time if that never comes. What wavelets then lie in
  // lanes and queues, "" if none do.
  std::string rest() {
    RunStatus status;
    call([&](Diag&) {
      const Cycle end = device_->now() + std::max<Cycle>(device_->now(), 100'000);
      status = device_->run({.cycle = end, .while_active = true, .list_leftovers = true});
      return status.reason != StopReason::fault;
    });
    return status.fault.empty() ? status.message : std::string();
  }
  void send(const std::string& port, const Words& data) {
    call([&, words = span(data)](Diag& diag) { return session_->send(port, words, diag); });
  }
  Words receive(const std::string& port, size_t count) {
    std::vector<uint32_t> data;
    call([&](Diag& diag) { return session_->receive(port, count, data, diag); });
    return array(data);
  }

  py::bytes read(int x, int y, uint32_t address, uint32_t bytes) {
    const Program& p = device_->program();
    if (x < 0 || y < 0 || x >= p.fabric_width || y >= p.fabric_height)
      throw std::runtime_error(fmt::format("PE ({}, {}) is not on the fabric of {} x {} PEs", x, y,
                                           p.fabric_width, p.fabric_height));
    if (uint64_t(address) + bytes > uint64_t(device_->machine().core.memory_bytes))
      throw std::runtime_error(
          fmt::format("bytes {} to {} are beyond the PE's memory", address, address + bytes));
    std::string out(bytes, '\0');
    device_->read({x, y}, uint16_t(address), {reinterpret_cast<uint8_t*>(out.data()), out.size()});
    return out;
  }

  py::list launches() const;
  double host_seconds() const { return session_->host_seconds(); }
  py::dict describe() const;
  py::list symbols(int x, int y) const;
  Cycle now() const { return device_->now(); }
  bool close() {
    py::gil_scoped_release release;
    return device_->close();
  }

 private:
  size_t begin(HostCommand command) {
    Diag diag;
    const auto ticket = session_->begin(std::move(command), diag);
    if (!ticket) fail(diag);
    if (diag.warnings() != 0) diag.print(std::cerr);
    return *ticket;
  }
  static std::vector<uint32_t> list(const Words& w) { return {w.data(), w.data() + w.size()}; }
  static uint8_t color_id(int color) {
    if (color < 0 || color > 255) throw std::runtime_error(fmt::format("{} is not the id of a color", color));
    return uint8_t(color);
  }
  static HostOrder order(bool row_major) {
    return row_major ? HostOrder::row_major : HostOrder::column_major;
  }
  static std::span<const uint32_t> span(const Words& w) { return {w.data(), size_t(w.size())}; }
  static Words array(const std::vector<uint32_t>& v) { return Words(py::ssize_t(v.size()), v.data()); }

  [[noreturn]] static void fail(const Diag& diag) {
    std::string text = diag.to_string();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw std::runtime_error(text);
  }

  // Runs without Python's lock; false becomes an exception, an interrupt Python's own.
  template <class F>
  void call(F&& f) {
    Diag diag;
    bool ok = false;
    {
      py::gil_scoped_release release;
      ok = f(diag);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (ok) return;
    if (!diag.ok()) fail(diag);
    const RunStatus& s = session_->status();
    throw std::runtime_error(fmt::format("{} at cycle {}: {}",
                                         s.fault.empty() ? "simulation stopped" : s.fault, s.now,
                                         s.message.empty() ? "nothing can happen any more" : s.message));
  }

  std::unique_ptr<ChildDevice> device_;
  std::unique_ptr<Session> session_;
};

// As stats.json lists them: what has not happened is None.
py::list Simulation::launches() const {
  py::list out;
  for (const LaunchSpan& l : session_->launches()) {
    const auto when = [](bool happened, Cycle c) {
      return happened ? py::object(py::int_(c)) : py::object(py::none());
    };
    py::dict d;
    d["function"] = l.function;
    d["issued"] = l.issued;
    d["begin"] = when(l.begin != kNever, l.begin);
    d["end"] = when(l.done(), l.end);
    d["cycles"] = when(l.done(), l.cycles());
    d["pes"] = l.pes;
    d["pes_ended"] = l.ended;
    d["last_begin"] = when(l.begin != kNever, l.last_begin);
    d["first_end"] = when(l.ended > 0, l.first_end);
    d["last_pe"] =
        l.ended > 0 ? py::object(py::make_tuple(l.last_pe.x, l.last_pe.y)) : py::object(py::none());
    d["pe_cycles"] = l.pe_cycles;
    out.append(d);
  }
  return out;
}

py::dict Simulation::describe() const {
  const Program& p = device_->program();
  py::list exports, ports;
  for (const ExportedName& e : p.exports) {
    py::list parameters;
    for (const TileProgram& t : p.tiles) {
      const Function* f = e.is_function ? t.function(e.name) : nullptr;
      if (f == nullptr) continue;
      for (const Parameter& a : f->parameters) parameters.append(std::string(data_type_name(a.type)));
      break;
    }
    py::dict d;
    d["name"] = e.name;
    d["function"] = e.is_function;
    d["type"] = std::string(data_type_name(e.type));
    d["parameters"] = parameters;
    if (const auto extent = e.is_function ? std::nullopt : extent_of_export(p, e.name)) {
      d["rect"] = py::make_tuple(extent->rect.x, extent->rect.y, extent->rect.w, extent->rect.h);
      d["elements"] = extent->elements;
    }
    exports.append(d);
  }
  for (const HostPort& port : p.ports) {
    py::dict d;
    d["name"] = port.name;
    d["input"] = port.input;
    ports.append(d);
  }
  py::dict out;
  out["name"] = p.name;
  out["arch"] = p.arch == Arch::wse3 ? "wse3" : "wse2";
  out["fabric"] = py::make_tuple(p.fabric_width, p.fabric_height);
  out["user"] = py::make_tuple(p.user.x, p.user.y, p.user.w, p.user.h);
  out["memcpy"] = p.memcpy;
  out["clock_mhz"] = device_->machine().clock_mhz;
  out["memory_bytes"] = device_->machine().core.memory_bytes;
  out["exports"] = exports;
  out["ports"] = ports;
  return out;
}

// (name, address, bytes) of everything that has a name in this PE's memory: exported symbols first.
py::list Simulation::symbols(int x, int y) const {
  const Program& p = device_->program();
  py::list out;
  for (const TileRect& r : p.rects) {
    if (!r.rect.contains({x, y})) continue;
    const TileProgram& t = p.tiles[r.tile];
    for (const Symbol& s : t.symbols)
      out.append(py::make_tuple(s.name, s.address, s.elements * uint32_t(data_type_bytes(s.type))));
    for (const Section& s : t.sections) out.append(py::make_tuple(s.name, s.address, s.bytes));
  }
  return out;
}

}  // namespace
}  // namespace cs

PYBIND11_MODULE(native, m) {
  using cs::Simulation;
  py::class_<Simulation>(m, "Simulation")
      .def(py::init<const std::string&, const std::string&, const std::vector<std::string>&>(),
           py::arg("folder"), py::arg("cs_sim"), py::arg("arguments"))
      .def("begin_copy_to", &Simulation::begin_copy_to)
      .def("begin_copy_from", &Simulation::begin_copy_from)
      .def("begin_launch", &Simulation::begin_launch)
      .def("begin_stream_to", &Simulation::begin_stream_to)
      .def("begin_stream_from", &Simulation::begin_stream_from)
      .def("wait", &Simulation::wait)
      .def("take", &Simulation::take)
      .def("rest", &Simulation::rest)
      .def("send", &Simulation::send)
      .def("receive", &Simulation::receive)
      .def("read", &Simulation::read)
      .def("describe", &Simulation::describe)
      .def("symbols", &Simulation::symbols)
      .def("launches", &Simulation::launches)
      .def("host_seconds", &Simulation::host_seconds)
      .def("now", &Simulation::now)
      .def("close", &Simulation::close);
}

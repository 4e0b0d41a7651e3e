// The engine as a device of this process, and the host's side of it.
#include "wafersmith/session.h"

#include <bit>
#include <cstring>

#include "runtime/host/copy_run.h"
#include "runtime/host/exports.h"
#include "runtime/host/model_run.h"
#include "runtime/host/session.h"
#include "simulator/engine/engine_device.h"
#include "simulator/report/collect.h"
#include "simulator/report/stats_json.h"
#include "wafersmith/internal.h"

namespace wafersmith {
namespace {

cs::sim::EngineDeviceOptions device_options(const SessionOptions& o) {
  cs::sim::EngineDeviceOptions out;
  out.engine.threads = o.threads;
  out.engine.allow = o.allow;
  if (o.max_cycles > 0) out.max_cycles = o.max_cycles;
  out.max_seconds = o.max_seconds;
  out.interrupted = o.interrupted;
  out.progress = o.progress;
  return out;
}

cs::Machine machine_of(const cs::Program& program) {
  cs::Diag diag;
  auto machine = cs::program_machine(program, diag);
  if (!machine) refuse(diag);
  return std::move(*machine);
}

[[noreturn]] void fail(const cs::RunStatus& status) {
  std::string fault = status.fault;
  if (fault.empty())
    fault = status.reason == cs::StopReason::interrupted  ? "interrupted"
            : status.reason == cs::StopReason::max_cycles ? "timeout"
                                                          : "deadlock";
  throw SimulationError(fault + " in cycle " + std::to_string(status.now) +
                            (status.message.empty() ? "" : ": " + status.message),
                        fault, status.now);
}

}  // namespace

struct Session::State {
  State(const Program& p, const SessionOptions& o)
      : data(p.data()),
        model(p.is_model()),
        machine(machine_of(data->program)),
        device(machine, device_options(o)),
        host(device) {
    if (o.print)
      device.engine().set_print([print = o.print](cs::Cycle cycle, cs::Coord pe, const std::string& line) {
        print(cycle, pe.x, pe.y, line);
      });
    cs::Diag diag;
    if (!device.load(data->program, data->weights, diag)) refuse(diag);
  }

  // After a call of `host`: what was wrong with it, or with the simulated program.
  void judge(bool ok, const cs::Diag& diag) const {
    if (!diag.ok()) refuse(diag);
    if (!ok || !host.status().fault.empty()) fail(host.status());
  }
  void must_be_csl(const char* call) const {
    if (model) throw Error(std::string(call) + ": the program is a model, which run() runs");
  }
  // The PEs of a copy and the elements on each.
  cs::ExportExtent extent(const std::string& variable, const std::optional<Rectangle>& rect) const {
    auto e = cs::extent_of_export(data->program, variable);
    if (!e) {
      std::string names;
      for (const cs::ExportedName& x : data->program.exports)
        if (!x.is_function) names += (names.empty() ? "" : ", ") + x.name;
      throw Error(variable + ": no exported variable of this name; the program exports " +
                  (names.empty() ? "none" : names));
    }
    if (rect) e->rect = to_rect(*rect);
    return *e;
  }

  std::shared_ptr<const Program::Data> data;
  bool model;
  cs::Machine machine;
  cs::sim::EngineDevice device;
  cs::Session host;
  std::optional<cs::ModelRunResult> ran;
};

Session::Session(const Program& program, const SessionOptions& options)
    : state_(std::make_unique<State>(program, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

RunResult Session::run(const std::vector<Array>& inputs, int samples) {
  State& s = *state_;
  if (!s.model) throw Error("run() is for models; this program is CSL: copy_to(), launch(), copy_from()");
  if (s.ran) throw Error("a network begins at cycle 0: make another Session to run it again");
  std::vector<cs::NamedArray> arrays;
  for (const Array& a : inputs) arrays.push_back(to_named(a));
  cs::Diag diag;
  cs::ModelRunOptions options;
  options.samples = samples;
  auto ran = cs::run_model(s.device, s.data->weights, arrays, options, diag);
  if (!ran) refuse(diag);
  s.ran = std::move(ran);
  if (s.ran->status.reason != cs::StopReason::condition) fail(s.ran->status);
  RunResult out;
  for (const cs::NamedArray& a : s.ran->outputs) out.outputs.push_back(from_named(a));
  out.samples = s.ran->samples;
  out.cycles = s.ran->cycles;
  out.latency_cycles = s.ran->latency_cycles;
  out.interval_cycles = s.ran->interval_cycles;
  out.sample_end.assign(s.ran->sample_end.begin(), s.ran->sample_end.end());
  return out;
}

void Session::copy_to(const std::string& variable, const Array& values, std::optional<Rectangle> rect) {
  State& s = *state_;
  s.must_be_csl("copy_to");
  const cs::ExportExtent e = s.extent(variable, rect);
  const size_t width = bytes_of(values.dtype);
  if (width != size_t(cs::data_type_bytes(e.type)))
    throw Error(variable + ": the values have " + std::to_string(width) + " bytes each (" +
                name_of(values.dtype) + "), the variable " + std::to_string(cs::data_type_bytes(e.type)) +
                " (" + name_of(DType(e.type)) + ")");
  if (values.shape.size() != 3 || values.shape[0] != e.rect.h || values.shape[1] != e.rect.w)
    throw Error(variable + ": the values must have the shape [" + std::to_string(e.rect.h) + ", " +
                std::to_string(e.rect.w) + ", n]: height, width, elements per PE");
  const cs::NamedArray array = to_named(values);
  std::vector<uint32_t> words(array.tensor.bytes.size() / width);
  for (size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], &array.tensor.bytes[i * width], width);
  cs::Diag diag;
  const bool ok =
      s.host.copy_to(variable, e.rect, uint32_t(values.shape[2]), words, cs::HostOrder::row_major, diag);
  s.judge(ok, diag);
}

Array Session::copy_from(const std::string& variable, std::optional<Rectangle> rect) {
  State& s = *state_;
  s.must_be_csl("copy_from");
  const cs::ExportExtent e = s.extent(variable, rect);
  std::vector<uint32_t> words;
  cs::Diag diag;
  const bool ok = s.host.copy_from(variable, e.rect, e.elements, words, cs::HostOrder::row_major, diag);
  s.judge(ok, diag);
  Array out{variable, DType(e.type), {e.rect.h, e.rect.w, int64_t(e.elements)}, {}};
  const size_t width = bytes_of(out.dtype);
  out.bytes.resize(words.size() * width);
  for (size_t i = 0; i < words.size(); ++i) std::memcpy(&out.bytes[i * width], &words[i], width);
  return out;
}

void Session::launch(const std::string& function, const std::vector<Argument>& arguments) {
  State& s = *state_;
  s.must_be_csl("launch");
  std::vector<uint32_t> words;
  for (const Argument& a : arguments)
    words.push_back(std::visit([](auto v) { return std::bit_cast<uint32_t>(v); }, a));
  cs::Diag diag;
  const bool ok = s.host.launch(function, words, diag);
  s.judge(ok, diag);
}

void Session::wait() {
  State& s = *state_;
  s.must_be_csl("wait");
  cs::Diag diag;
  const bool ok = s.host.wait(diag);
  s.judge(ok, diag);
}

Array Session::read(const std::string& variable) const {
  state_->extent(variable, {});  // that there is one
  return from_named(*cs::read_export(state_->device, variable));
}

uint64_t Session::cycle() const { return state_->device.now(); }

Statistics Session::statistics() const {
  State& s = *state_;
  cs::sim::RunReport report =
      cs::sim::collect(s.device.engine(), std::max(s.device.now(), s.ran ? s.ran->cycles : cs::Cycle(0)));
  if (s.ran) {
    cs::sim::add_model_run(report, *s.data->program.host, s.machine, *s.ran);
    report.status = s.ran->status;
  } else {
    report.status = s.host.status();
    report.launches = s.device.launches();
    report.host_call_seconds = s.host.host_seconds();
  }
  return figures_of(report);
}

}  // namespace wafersmith

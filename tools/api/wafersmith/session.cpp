// The engine as a device of this process, and the host's side of it.
#include "wafersmith/session.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "runtime/host/copy_run.h"
#include "runtime/host/exports.h"
#include "runtime/host/model_run.h"
#include "runtime/host/session.h"
#include "runtime/host/training_data.h"
#include "simulator/engine/engine_device.h"
#include "simulator/report/collect.h"
#include "simulator/report/cycle_classes.h"
#include "simulator/report/stats_json.h"
#include "simulator/report/training.h"
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
  if (fault.empty() && status.reason == cs::StopReason::interrupted)
    throw Interrupted("interrupted in cycle " + std::to_string(status.now));
  if (fault.empty()) fault = status.reason == cs::StopReason::max_cycles ? "timeout" : "deadlock";
  throw SimulationError(fault + " in cycle " + std::to_string(status.now) +
                            (status.message.empty() ? "" : ": " + status.message),
                        fault, status.now);
}

}  // namespace

struct Session::State {
  State(const Program& p, const SessionOptions& o)
      : data(p.data()),
        options(o),
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

  bool streams() const { return model && !cs::has_copies(*data->program.host); }
  std::optional<cs::ModelRunResult> run_on(cs::sim::EngineDevice&, const std::vector<Array>& inputs,
                                           const RunOptions&, int samples, cs::Diag&) const;
  void collect(const cs::sim::EngineDevice&, const cs::ModelRunResult&, cs::sim::RunReport&) const;
  std::vector<cs::sim::KernelSpan> kernels_of_one_sample(const std::vector<Array>& inputs, const RunOptions&,
                                                         int copies) const;
  bool allows(const std::string& fault) const {
    return std::find(options.allow.begin(), options.allow.end(), fault) != options.allow.end();
  }
  void judge_leftovers();

  std::shared_ptr<const Program::Data> data;
  SessionOptions options;
  bool model;
  cs::Machine machine;
  cs::sim::EngineDevice device;
  cs::Session host;
  std::optional<cs::ModelRunResult> ran;  // without its outputs
  cs::sim::RunReport report;              // of that run
};

// Inputs are read where they lie; of a program that runs in steps they are cut into slices first.
std::optional<cs::ModelRunResult> Session::State::run_on(cs::sim::EngineDevice& on, const std::vector<Array>& inputs,
                                                         const RunOptions& o, int samples, cs::Diag& diag) const {
  cs::ModelRunOptions run;
  run.samples = samples;
  run.steps_before = o.steps_before;
  std::vector<cs::NamedArray> states, slices;
  for (const Array& a : o.states) states.push_back(to_named(a));
  if (!states.empty()) run.states = &states;
  if (!cs::runs_in_steps(*data->program.host)) {
    std::vector<cs::ArrayView> views;
    for (const Array& a : inputs) views.push_back(view_of(a));
    return cs::run_model(on, data->weights, views, run, diag);
  }
  for (const Array& a : inputs) slices.push_back(to_named(a));
  if (!cs::slice_data(*data->program.host, slices, diag)) return std::nullopt;
  return cs::run_model(on, data->weights, slices, run, diag);
}

void Session::State::collect(const cs::sim::EngineDevice& on, const cs::ModelRunResult& result,
                             cs::sim::RunReport& out) const {
  auto& engine = const_cast<cs::sim::EngineDevice&>(on).engine();
  out = cs::sim::collect(engine, std::max(on.now(), result.cycles));
  cs::sim::add_model_run(out, *data->program.host, machine, result);
  if (!streams()) cs::sim::add_tiles(out, engine);
  if (streams() && out.iterations <= out.copies) cs::sim::begin_with_input(out, engine);
  cs::sim::add_classes(out, data->program);
  cs::sim::add_training(out, engine);
  out.status = result.status;
  out.status.now = on.now();
}

std::vector<cs::sim::KernelSpan> Session::State::kernels_of_one_sample(const std::vector<Array>& inputs,
                                                                       const RunOptions& o, int copies) const {
  cs::Diag diag;
  cs::sim::EngineDevice other(machine, device_options(options));
  if (!other.load(data->program, data->weights, diag)) refuse(diag);
  const auto result = run_on(other, inputs, o, copies, diag);
  if (!result) refuse(diag);
  if (result->status.reason != cs::StopReason::condition) fail(result->status);
  cs::sim::RunReport one;
  collect(other, *result, one);
  std::vector<cs::sim::KernelSpan> spans;
  for (const cs::sim::KernelReport& k : one.kernels)
    spans.push_back({k.row.name, k.first_task, k.last_task_end, k.cycles});
  return spans;
}

// The fabric is left alone until it is quiet; wavelets that nobody took are a fault.
void Session::State::judge_leftovers() {
  const cs::Cycle end = device.now();
  device.run({.cycle = end + std::max<cs::Cycle>(end, 100'000)});
  if (options.interrupted != nullptr && *options.interrupted)
    fail({.reason = cs::StopReason::interrupted, .now = device.now(), .fault = {}, .message = {}});
  // Where states stay, the weights of the next step are under way.
  const std::string left = cs::keeps_states(*data->program.host) ? "" : device.leftovers();
  if (!left.empty() && !allows("leftover-wavelets"))
    fail({.reason = cs::StopReason::fault, .now = device.now(), .fault = "leftover-wavelets", .message = left});
}

Session::Session(const Program& program, const SessionOptions& options)
    : state_(std::make_unique<State>(program, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

RunResult Session::run(const std::vector<Array>& inputs, int samples) {
  RunOptions options;
  options.samples = samples;
  return run(inputs, options);
}

RunResult Session::run(const std::vector<Array>& inputs, const RunOptions& options) {
  State& s = *state_;
  if (!s.model) throw Error("run() is for models; this program is CSL: copy_to(), launch(), copy_from()");
  if (s.ran) throw Error("a network begins at cycle 0: make another Session to run it again");
  cs::Diag diag;
  const auto start = std::chrono::steady_clock::now();
  auto ran = s.run_on(s.device, inputs, options, options.samples, diag);
  if (!ran) refuse(diag);
  s.ran = std::move(ran);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  s.collect(s.device, *s.ran, s.report);
  s.report.simulator.wall_s = seconds;
  s.report.simulator.threads = s.options.threads;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  s.report.simulator.peak_rss_mb = double(usage.ru_maxrss) / 1024;
  if (s.ran->status.reason != cs::StopReason::condition && !s.allows(s.ran->status.fault)) fail(s.ran->status);
  s.judge_leftovers();
  if (options.kernel_cycles && s.report.iterations > s.report.copies)
    cs::sim::add_kernel_cycles(s.report, s.kernels_of_one_sample(inputs, options, s.report.copies));
  RunResult out;
  for (cs::NamedArray& a : s.ran->outputs) out.outputs.push_back(from_named(std::move(a)));
  for (cs::NamedArray& a : s.ran->states) out.states.push_back(from_named(std::move(a)));
  s.ran->outputs.clear();
  s.ran->states.clear();
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
  const cs::ArrayView view = view_of(values);
  std::vector<uint32_t> words(view.bytes.size() / width);
  if (width == sizeof(uint32_t) && !words.empty()) {
    std::memcpy(words.data(), view.bytes.data(), view.bytes.size());
  } else {
    for (size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], &view.bytes[i * width], width);
  }
  cs::Diag diag;
  const auto ticket = s.host.begin({cs::HostCommand::Kind::copy_to, variable, 0, e.rect, uint32_t(values.shape[2]),
                                    cs::HostOrder::row_major, std::move(words)},
                                   diag);
  const bool ok = ticket && s.host.wait(*ticket, diag);
  s.judge(ok, diag);
}

Array Session::copy_from(const std::string& variable, std::optional<Rectangle> rect, uint32_t elements) {
  State& s = *state_;
  s.must_be_csl("copy_from");
  cs::ExportExtent e = s.extent(variable, rect);
  if (elements > 0) e.elements = elements;
  std::vector<uint32_t> words;
  cs::Diag diag;
  const bool ok = s.host.copy_from(variable, e.rect, e.elements, words, cs::HostOrder::row_major, diag);
  s.judge(ok, diag);
  Array out{variable, DType(e.type), {e.rect.h, e.rect.w, int64_t(e.elements)}, {}};
  const size_t width = bytes_of(out.dtype);
  if (width == sizeof(uint32_t)) {
    out.bytes = Bytes::take(std::move(words));
    return out;
  }
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
  return from_named(std::move(*cs::read_export(state_->device, variable)));
}

uint64_t Session::cycle() const { return state_->device.now(); }

std::vector<LaunchInfo> Session::launches() const {
  std::vector<LaunchInfo> out;
  for (const cs::LaunchSpan& l : state_->device.launches()) out.push_back(launch_of(l));
  return out;
}

Statistics Session::statistics() const {
  State& s = *state_;
  if (s.ran) return figures_of(s.report);
  cs::sim::RunReport report = cs::sim::collect(s.device.engine(), s.device.now());
  report.status = s.host.status();
  report.launches = s.device.launches();
  report.host_call_seconds = s.host.host_seconds();
  return figures_of(report);
}

}  // namespace wafersmith

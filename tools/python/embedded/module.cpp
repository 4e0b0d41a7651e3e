// wafersmith.embedded: the library in the process of Python. library.py, which users see, is over it.
//
// Calls that compile or let simulated time pass release Python's lock and end by Ctrl-C (interruptible.h). Errors of
// the library are raised as wafersmith.CompileError and wafersmith.SimulationError.
#include <bit>
#include <mutex>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <wafersmith/wafersmith.h>

#include "arrays.h"
#include "interruptible.h"

namespace py = pybind11;

namespace wafersmith::python {
namespace {

using RectTuple = std::tuple<int, int, int, int>;
using Texts = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

RectTuple tuple_of(const Rectangle& r) { return {r.x, r.y, r.width, r.height}; }
std::optional<Rectangle> rectangle_of(const std::optional<RectTuple>& r) {
  if (!r) return std::nullopt;
  const auto [x, y, width, height] = *r;
  return Rectangle{x, y, width, height};
}

// ---- errors

py::list list_of(const std::vector<Message>& messages) {
  py::list out;
  for (const Message& m : messages) {
    py::dict d;
    d["kind"] = m.kind == Message::Kind::error ? "error" : m.kind == Message::Kind::warning ? "warning" : "note";
    d["file"] = m.file;
    d["line"] = m.line;
    d["column"] = m.column;
    d["text"] = m.text;
    d["help"] = m.help;
    out.append(d);
  }
  return out;
}

std::string without_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

[[noreturn]] void raise(const py::object& type, const py::object& error) {
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

// Runs f, an error of the library becomes an exception of Python's; `type` is that of bad input.
template <typename F>
auto translated(const char* type, F&& f) {
  const auto errors = [] { return py::module_::import("wafersmith.errors"); };
  try {
    return f();
  } catch (const Interrupted& e) {
    PyErr_SetString(PyExc_KeyboardInterrupt, e.what());
    throw py::error_already_set();
  } catch (const SimulationError& e) {
    const py::object kind = errors().attr("SimulationError");
    raise(kind, kind(without_end(e.what()), e.fault(), e.cycle()));
  } catch (const Error& e) {
    const py::object kind = errors().attr(type);
    raise(kind, kind(without_end(e.what()), py::arg("messages") = list_of(e.messages())));
  }
}

// ---- programs

struct Compiled {
  Program program;
  std::vector<Message> messages;
};

// What a compilation needs lives as long as it does, whoever still waits for it.
template <typename Options>
Compiled compile(Program (*function)(const std::string&, const Options&, std::vector<Message>*),
                 const std::string& path, Options options) {
  struct Job {
    std::atomic<bool> stop = false;
    std::string path;
    Options options;
    std::optional<Program> program;
    std::vector<Message> messages;
  };
  const auto job = std::make_shared<Job>();
  job->path = path;
  job->options = std::move(options);
  job->options.interrupted = &job->stop;
  return translated("CompileError", [&] {
    run_interruptibly([job, function] { job->program = function(job->path, job->options, &job->messages); }, job->stop);
    return Compiled{std::move(*job->program), std::move(job->messages)};
  });
}

Compiled model(const std::string& path, const std::string& machine, const Texts& set, std::pair<int, int> fabric,
               const std::string& policy, const std::string& host_ops, bool resident,
               const std::vector<std::pair<std::string, int64_t>>& dims, int threads) {
  ModelOptions o;
  o.machine = machine;
  o.set = set;
  std::tie(o.fabric_width, o.fabric_height) = fabric;
  o.autogen_policy = policy;
  o.host_ops = host_ops;
  o.resident = resident;
  o.dims = dims;
  o.threads = threads;
  return compile(&compile_model, path, std::move(o));
}

Compiled layout(const std::string& path, const std::string& machine, const Texts& set, const Pairs& params,
                const Texts& import_paths, std::pair<int, int> fabric, std::pair<int, int> offset, int threads) {
  LayoutOptions o;
  o.machine = machine;
  o.set = set;
  o.params = params;
  o.import_paths = import_paths;
  std::tie(o.fabric_width, o.fabric_height) = fabric;
  std::tie(o.offset_x, o.offset_y) = offset;
  o.threads = threads;
  return compile(&compile_layout, path, std::move(o));
}

Program load(const std::string& folder) {
  return translated("CompileError", [&] {
    const py::gil_scoped_release release;
    return Program::load(folder);
  });
}

void save(const Program& program, const std::string& folder) {
  translated("CompileError", [&] {
    const py::gil_scoped_release release;
    program.save(folder);
  });
}

py::list tensors_of(const std::vector<TensorInfo>& tensors) {
  py::list out;
  for (const TensorInfo& t : tensors) {
    py::dict d;
    d["name"] = t.name;
    d["type"] = name_of(t.dtype);
    d["shape"] = py::tuple(py::cast(t.shape));
    d["sample_dim"] = t.sample_dim;
    out.append(d);
  }
  return out;
}

// As `describe()` of a simulation in a process lists them.
py::list exports_of(const Program& program) {
  py::list out;
  for (const VariableInfo& v : program.variables()) {
    py::dict d;
    d["name"] = v.name;
    d["function"] = false;
    d["type"] = name_of(v.dtype);
    d["rect"] = tuple_of(v.rect);
    d["elements"] = v.elements;
    out.append(d);
  }
  for (const FunctionInfo& f : program.functions()) {
    py::list parameters;
    for (const DType p : f.parameters) parameters.append(name_of(p));
    py::dict d;
    d["name"] = f.name;
    d["function"] = true;
    d["parameters"] = parameters;
    out.append(d);
  }
  return out;
}

// ---- sessions

py::dict dict_of(const LaunchInfo& l) {
  const auto when = [](bool happened, uint64_t value) {
    return happened ? py::object(py::int_(value)) : py::object(py::none());
  };
  py::dict d;
  d["function"] = l.function;
  d["issued"] = l.issued;
  d["begin"] = when(l.begun, l.begin);
  d["end"] = when(l.done, l.end);
  d["cycles"] = when(l.done, l.end - l.begin);
  d["pes"] = l.pes;
  d["pes_ended"] = l.pes_ended;
  d["last_begin"] = when(l.begun, l.last_begin);
  d["first_end"] = when(l.pes_ended > 0, l.first_end);
  d["last_pe"] = l.pes_ended > 0 ? py::object(py::make_tuple(l.last_x, l.last_y)) : py::object(py::none());
  d["pe_cycles"] = l.pe_cycles;
  return d;
}

// A Session with the flag that ends it, for one thread at a time: others get an error. A call holds what it needs,
// it may outlast this object.
class Wafer {
 public:
  Wafer(const Program& program, int threads, uint64_t max_cycles, double max_seconds, const Texts& allow)
      : state_(std::make_shared<State>()) {
    SessionOptions o;
    o.threads = threads;
    o.max_cycles = max_cycles;
    o.max_seconds = max_seconds;
    o.allow = allow;
    o.interrupted = &state_->stop;
    call([program, o](State& s) { s.session.emplace(program, o); });
  }

  py::dict run(const py::dict& inputs, int samples, bool kernel_cycles, const py::dict& states, int64_t steps_before) {
    const auto job = std::make_shared<Run>();
    job->held = {inputs, states};
    job->inputs = borrowed(inputs);
    job->options = {samples, kernel_cycles, borrowed(states), steps_before};
    call([job](State& s) {
      job->result = s.session->run(job->inputs, job->options);
      job->statistics = s.session->statistics().json;
    });
    RunResult& r = job->result;
    py::dict out;
    out["outputs"] = hand_over(std::move(r.outputs));
    out["states"] = hand_over(std::move(r.states));
    out["samples"] = r.samples;
    out["cycles"] = r.cycles;
    out["latency_cycles"] = r.latency_cycles;
    out["interval_cycles"] = r.interval_cycles;
    out["sample_end"] = r.sample_end;
    out["statistics"] = job->statistics;
    return out;
  }

  void copy_to(const std::string& variable, const py::array& values, const std::optional<RectTuple>& rect) {
    const auto job = std::make_shared<Run>();
    job->held = {values};
    job->inputs = {borrow(variable, values)};
    call([=](State& s) { s.session->copy_to(variable, job->inputs[0], rectangle_of(rect)); });
  }

  py::array copy_from(const std::string& variable, const std::optional<RectTuple>& rect, uint32_t elements) {
    const auto out = std::make_shared<Array>();
    call([=](State& s) { *out = s.session->copy_from(variable, rectangle_of(rect), elements); });
    return hand_over(std::move(*out));
  }

  // Arguments as raw 32-bit values; until the end of the function.
  void launch(const std::string& function, const std::vector<uint32_t>& words) {
    call([=](State& s) {
      s.session->launch(function, {words.begin(), words.end()});
      s.session->wait();
    });
  }

  uint64_t cycle() {
    uint64_t cycle = 0;
    quickly([&](Session& s) { cycle = s.cycle(); });
    return cycle;
  }
  py::list launches() {
    std::vector<LaunchInfo> list;
    quickly([&](Session& s) { list = s.launches(); });
    py::list out;
    for (const LaunchInfo& l : list) out.append(dict_of(l));
    return out;
  }
  std::string statistics() {
    std::string json;
    quickly([&](Session& s) { json = s.statistics().json; });
    return json;
  }
  // A run that was interrupted and has not ended yet closes when it does.
  void close() {
    const py::gil_scoped_release release;
    const auto state = std::exchange(state_, std::make_shared<State>());
    if (const std::unique_lock lock(state->mutex, std::try_to_lock); lock) state->session.reset();
  }

 private:
  struct State {
    std::mutex mutex;
    std::atomic<bool> stop = false;
    std::optional<Session> session;
  };
  // Arrays of Python that the library reads. The last one to go needs Python's lock.
  struct Run {
    std::vector<py::object> held;
    std::vector<Array> inputs;
    RunOptions options;
    RunResult result;
    std::string statistics;
    Run() = default;
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() {
      const py::gil_scoped_acquire acquire;
      held.clear();
    }
  };

  static std::vector<Array> borrowed(const py::dict& arrays) {
    std::vector<Array> out;
    for (const auto& [name, array] : arrays)
      out.push_back(borrow(name.cast<std::string>(), array.cast<py::array>()));
    return out;
  }

  static std::unique_lock<std::mutex> only_one(State& s) {
    std::unique_lock lock(s.mutex, std::try_to_lock);
    if (!lock) throw Error("the session is at work for another thread; each thread needs a session of its own");
    return lock;
  }
  static void must_be_open(State& s) {
    if (!s.session) throw Error("the session is closed");
  }
  // What was cut off in the midst of a cycle's work does not go on.
  static void must_go_on(State& s) {
    if (s.stop) throw Error("the session was interrupted; make another one");
  }

  void call(std::function<void(State&)> work) {
    const auto state = state_;
    const bool opening = !state->session && !opened_;
    opened_ = true;
    translated("SimulationError", [&] {
      must_go_on(*state);
      run_interruptibly(
          [state, work = std::move(work), opening] {
            const auto lock = only_one(*state);
            if (!opening) must_be_open(*state);
            work(*state);
          },
          state->stop);
    });
  }
  void quickly(const std::function<void(Session&)>& work) {
    translated("SimulationError", [&] {
      const py::gil_scoped_release release;
      const auto lock = only_one(*state_);
      must_be_open(*state_);
      work(*state_->session);
    });
  }

  std::shared_ptr<State> state_;
  bool opened_ = false;
};

}  // namespace
}  // namespace wafersmith::python

PYBIND11_MODULE(embedded, m) {
  using namespace wafersmith;
  using namespace wafersmith::python;
  py::class_<Compiled>(m, "Compiled")
      .def_readonly("program", &Compiled::program)
      .def_property_readonly("messages", [](const Compiled& c) { return list_of(c.messages); });
  py::class_<Program>(m, "Program")
      .def_property_readonly("name", &Program::name)
      .def_property_readonly("machine", &Program::machine)
      .def_property_readonly("is_model", &Program::is_model)
      .def_property_readonly("compile_report", &Program::compile_report)
      .def_property_readonly("inputs", [](const Program& p) { return tensors_of(p.inputs()); })
      .def_property_readonly("outputs", [](const Program& p) { return tensors_of(p.outputs()); })
      .def_property_readonly("exports", &exports_of)
      .def("save", &save, py::arg("folder"));
  py::class_<Wafer>(m, "Wafer")
      .def(py::init<const Program&, int, uint64_t, double, const Texts&>(), py::arg("program"), py::arg("threads") = 1,
           py::arg("max_cycles") = 0, py::arg("max_seconds") = 0, py::arg("allow") = Texts())
      .def("run", &Wafer::run, py::arg("inputs"), py::arg("samples") = 0, py::arg("kernel_cycles") = false,
           py::arg("states") = py::dict(), py::arg("steps_before") = 0)
      .def("copy_to", &Wafer::copy_to, py::arg("variable"), py::arg("values"), py::arg("rect") = py::none())
      .def("copy_from", &Wafer::copy_from, py::arg("variable"), py::arg("rect") = py::none(),
           py::arg("elements") = 0)
      .def("launch", &Wafer::launch, py::arg("function"), py::arg("words"))
      .def("launches", &Wafer::launches)
      .def("cycle", &Wafer::cycle)
      .def("statistics", &Wafer::statistics)
      .def("close", &Wafer::close);
  m.def("load", &load, py::arg("folder"));
  m.def("compile_model", &model, py::arg("path"), py::arg("machine"), py::arg("set"), py::arg("fabric"),
        py::arg("policy"), py::arg("host_ops"), py::arg("resident"), py::arg("dims"), py::arg("threads"));
  m.def("compile_layout", &layout, py::arg("path"), py::arg("machine"), py::arg("set"), py::arg("params"),
        py::arg("import_paths"), py::arg("fabric"), py::arg("offset"), py::arg("threads"));
  m.def("machines", &machines);
  m.def("version", &version);
  py::module_::import("atexit").attr("register")(py::cpp_function(&wait_for_abandoned));
}

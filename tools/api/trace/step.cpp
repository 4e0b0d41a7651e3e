// A call: trace if need be, compare, run. What functions capture is compared with what was traced.
#include "tools/api/trace/step.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/api/trace/backend_state.h"
#include "tools/api/trace/changes.h"
#include "tools/api/trace/explain.h"
#include "tools/api/trace/section_state.h"

namespace cs {

namespace {

using tracing::Argument;

std::string number_text(double value) { return fmt::format("{}", value); }

}  // namespace

struct Step::State {
  TraceOptions options;
  int64_t traces = 0, iterations = 0;
  std::vector<std::string> warnings;
  std::set<std::string> warned;  // variables
  std::shared_ptr<tracing::BackendState> backend;
  std::shared_ptr<const tracing::Tracer> tracer;  // of the first trace
  std::vector<tracing::Line> lines;
  tracing::Signature signature;
  std::vector<std::string> results;       // names of values, in the order of the function
  std::map<std::string, double> numbers;  // watched variables and arguments, as they were traced

  std::string name_of(size_t argument) const {
    return argument < options.inputs.size() ? options.inputs[argument] : fmt::format("x{}", argument);
  }
  tracing::Signature signature_of(const std::vector<Argument>& arguments) const {
    tracing::Signature found;
    for (size_t k = 0; k < arguments.size(); ++k)
      if (arguments[k].tensor) found.emplace_back(name_of(k), ops::type_text(arguments[k].tensor->type()));
    return found;
  }
  std::map<std::string, double> numbers_of(const std::vector<Argument>& arguments) const {
    std::map<std::string, double> found;
    for (size_t k = 0; k < arguments.size(); ++k)
      if (!arguments[k].tensor) found[name_of(k)] = arguments[k].number;
    for (const WatchedScalar& scalar : options.scalars) found[scalar.name] = scalar.read();
    return found;
  }
  bool again() const { return backend == nullptr || backend->options.retrace_every_iteration; }

  void warn(const std::string& variable, const std::string& message) {
    if (!warned.insert(variable).second) return;
    warnings.push_back(message + " (retrace_every_iteration traces in every iteration)");
    if (options.warn)
      options.warn(warnings.back());
    else
      std::cerr << "warning: " << warnings.back() << "\n";
  }
  void warn_of_changes(const std::map<std::string, double>& now) {
    for (const auto& [name, value] : now) {
      const auto was = numbers.find(name);
      if (was != numbers.end() && was->second != value)
        warn(name,
             fmt::format("'{}' was {} when {}() was traced and is a constant of its graph; that it is {} now "
                         "changes nothing",
                         name, number_text(was->second), options.name, number_text(value)));
    }
  }
  void warn_of_own_changes(const std::map<std::string, double>& before,
                           const std::map<std::string, double>& after) {
    for (const auto& [name, value] : after)
      if (before.at(name) != value)
        warn(name,
             fmt::format("{}() changes '{}' while it is traced; that happens once, not in every iteration",
                         options.name, name));
  }

  std::shared_ptr<tracing::BackendState> choose_backend(const tracing::Tracer& t) const {
    const auto given = options.backend ? options.backend->state() : nullptr;
    if (given && t.backend && given != t.backend)
      throw CompileError(
          fmt::format("{}() is traced for the backend {} and uses a model that is compiled for another "
                      "one ({})",
                      options.name, given->name, t.backend->name));
    const auto section = tracing::current_section();
    auto chosen = given       ? given
                  : t.backend ? t.backend
                  : section   ? section->backend
                              : tracing::latest_backend();
    if (!chosen)
      throw BackendError(
          fmt::format("{}() has no backend to run on: make one with cs::backend()", options.name));
    return chosen;
  }
  void check_inputs(const std::vector<Argument>& arguments) const {
    if (options.inputs.size() > arguments.size())
      throw TraceError(fmt::format("{}() has {} names of arguments and {} arguments", options.name,
                                   options.inputs.size(), arguments.size()));
  }

  // What crossed between host and wafer in this step; weights do where a program was loaded.
  void tell_section(const std::vector<NamedArray>& inputs, const std::map<std::string, ops::Tensor>& found,
                    bool loaded) const {
    const auto section = tracing::current_section();
    if (!section || section->backend != backend) return;
    for (const NamedArray& a : inputs) section->cross(a.name, true, a.tensor);
    if (loaded)
      for (const auto& [id, weight] : tracer->weights)
        section->cross(tracer->graph.value(id).name, true, weight.value());
    for (const std::string& name : results) section->cross(name, false, found.at(name));
    for (const auto& [tap, name] : tracer->taps)
      if (tap->every <= 1 || iterations % tap->every == 0) section->cross(name, false, found.at(name));
  }

  void trace(const std::vector<Argument>& arguments, const tracing::Body& body);
  void accept(const std::shared_ptr<tracing::Tracer>& made, const std::vector<std::string>& names,
              double seconds, const std::vector<Argument>& arguments);
};

void Step::State::trace(const std::vector<Argument>& arguments, const tracing::Body& body) {
  check_inputs(arguments);
  const auto start = std::chrono::steady_clock::now();
  const bool first = tracer == nullptr;
  const std::map<std::string, double> before = numbers_of(arguments);
  auto made = std::make_shared<tracing::Tracer>(options.name);
  std::vector<std::string> names;
  {
    const tracing::Tracer::Scope scope(*made);
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < arguments.size(); ++k)
      if (arguments[k].tensor) inputs.push_back(made->input(name_of(k), arguments[k].tensor->type()));
    for (const Tensor& t : body(inputs)) names.push_back(made->graph.value(made->result(t, {})).name);
    made->finish();
  }
  ++traces;
  accept(made, names, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
         arguments);
  numbers = numbers_of(arguments);
  if (first && !backend->options.retrace_every_iteration) warn_of_own_changes(before, numbers);
}

// The first graph is the step's; later ones must be equal to it.
void Step::State::accept(const std::shared_ptr<tracing::Tracer>& made, const std::vector<std::string>& names,
                         double seconds, const std::vector<Argument>& arguments) {
  std::vector<tracing::Line> found = tracing::canonical(*made);
  if (tracer && !tracing::equal(found, lines))
    throw tracing::graph_changed(options.name, iterations, lines, found);
  if (!tracer) {
    backend = choose_backend(*made);
    made->backend.reset();  // which will keep this trace
    tracer = made;
    lines = std::move(found);
    signature = signature_of(arguments);
    results = names;
  }
  backend->statistics.trace_seconds += seconds;
  ++backend->statistics.traces;
}

Step::Step(TraceOptions options) : state_(std::make_shared<State>()) { state_->options = std::move(options); }

int64_t Step::traces() const { return state_->traces; }
int64_t Step::iterations() const { return state_->iterations; }
const std::vector<std::string>& Step::warnings() const { return state_->warnings; }

std::string Step::explain() const {
  return state_->tracer ? tracing::explain(*state_->tracer) : state_->options.name + "() has not been traced";
}

graph::GraphText Step::text() const {
  if (!state_->tracer) throw TraceError(state_->options.name + "() has not been traced");
  return tracing::text_of(*state_->tracer, state_->backend->is_host());
}

std::vector<Tensor> Step::call(const std::vector<Argument>& arguments, const tracing::Body& body) const {
  State& s = *state_;
  if (!s.tracer || s.again()) {
    s.trace(arguments, body);
  } else {
    if (const tracing::Signature now = s.signature_of(arguments); now != s.signature)
      throw tracing::arguments_changed(s.options.name, s.iterations, s.signature, now, s.lines);
    s.warn_of_changes(s.numbers_of(arguments));
  }
  std::vector<Tensor> found;
  if (!s.tracer->graph.outputs.empty()) {  // else nobody needs it to run
    std::vector<NamedArray> inputs;
    const std::vector<graph::ValueId>& values = s.tracer->graph.inputs;
    size_t next = 0;
    for (const Argument& a : arguments)
      if (a.tensor) inputs.push_back({s.tracer->graph.value(values[next++]).name, a.tensor->value()});
    const std::vector<NamedArray> given = inputs;
    const std::shared_ptr<tracing::GraphProgram> before = s.backend->loaded;
    const auto program = s.backend->program(s.tracer, s.lines);
    const std::map<std::string, ops::Tensor> results = program->run(std::move(inputs));
    for (const std::string& name : s.results) found.emplace_back(results.at(name));
    s.tell_section(given, results, program != before);
    for (const auto& [tap, name] : s.tracer->taps) tap->give(s.iterations, Tensor(results.at(name)));
  }
  ++s.iterations;
  return found;
}

namespace tracing {
bool is_tracing() { return Tracer::active() != nullptr; }
}  // namespace tracing

bool branch(const std::string& name, bool condition, CallSite where) {
  if (tracing::Tracer* tracer = tracing::Tracer::active())
    tracer->decisions.push_back({fmt::format("branch '{}': {}", name, condition), place_of(where)});
  return condition;
}

int64_t trips(const std::string& name, int64_t count, CallSite where) {
  if (tracing::Tracer* tracer = tracing::Tracer::active())
    tracer->decisions.push_back({fmt::format("loop '{}': {} trips", name, count), place_of(where)});
  return count;
}

}  // namespace cs

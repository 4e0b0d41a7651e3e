// From the traced graph to the simulator and back: text, compile(), a device for each step, weights and
// states.
#include "tools/api/trace/graph_program.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "compiler/graph/graph_yaml.h"
#include "runtime/host/model_run.h"
#include "runtime/host/training_data.h"
#include "runtime/support/files.h"
#include "simulator/engine/engine_device.h"
#include "tools/api/api.h"
#include "tools/api/trace/backend_state.h"

namespace cs::tracing {

namespace {

class Seconds {
 public:
  explicit Seconds(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Seconds() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Seconds(const Seconds&) = delete;
  Seconds& operator=(const Seconds&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

// A folder of this process alone, gone at the end of its scope.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "wafersmith-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw CompileError("no folder can be made at " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// `where: "train.cpp:17"` of the line of the graph's text that a message is about.
std::string line_of_user(const Diag& diag, const SourceLoc& loc) {
  const std::string line(diag.sources.line(loc.file, loc.line));
  const size_t at = line.find("where: ");
  if (at == std::string::npos) return "";
  std::string place = line.substr(at + 7);
  place.erase(std::remove(place.begin(), place.end(), '"'), place.end());
  return place.substr(0, place.find_first_of(",}"));
}

[[noreturn]] void refuse(const Diag& diag) {
  std::string text;
  for (const Diagnostic& d : diag.all()) {
    if (d.severity != Severity::error) continue;
    std::string place = d.loc.valid() ? line_of_user(diag, d.loc) : d.where;
    if (!place.empty()) place += ": ";
    text += (text.empty() ? "" : "\n") + place + d.message + (d.help.empty() ? "" : "; " + d.help.text());
  }
  throw CompileError(text.empty() ? "the compiler refused the graph" : text);
}

ops::Tensor converted(const ops::Tensor& from, const ops::TensorType& type) {
  if (from.type.dtype == type.dtype) {
    ops::Tensor same = from;
    same.type = type;
    return same;
  }
  ops::Tensor to(type);
  for (int64_t i = 0; i < to.elements(); ++i) to.set(i, from.get(i));
  return to;
}

// Wavelets that nobody takes are a fault, but for the weights of a next step, which are under way.
void judge_leftovers(sim::EngineDevice& device, const HostPart& host) {
  if (keeps_states(host)) return;
  const Cycle end = device.now();
  device.run({.cycle = end + std::max<Cycle>(end, 100'000)});
  if (const std::string left = device.leftovers(); !left.empty())
    throw RunError("leftover-wavelets: " + left);
}

}  // namespace

graph::GraphText text_of(const Tracer& t, bool on_host) {
  graph::Graph g = t.graph;
  for (const auto& [id, weight] : t.weights)  // what they are by now
    g.constants[size_t(g.value(id).constant)] = weight.data()->value;
  if (on_host)
    for (graph::NodeId id : g.nodes()) g.node(id).assignment.origin = Origin::host;
  graph::GraphText text = graph::graph_text(g, "weights.bin");
  text.yaml += recipe_text(t);
  return text;
}

GraphProgram::GraphProgram(std::shared_ptr<const Tracer> tracer, BackendState& backend)
    : tracer_(std::move(tracer)), backend_(backend) {
  const Seconds clock(backend_.statistics.compile_seconds);
  build();
  ++backend_.statistics.programs;
  for (const auto& [id, weight] : tracer_->weights) known_[weight.data().get()] = weight.data()->value;
}

void GraphProgram::build() {
  const Folder folder;
  const graph::GraphText text = text_of(*tracer_, backend_.is_host());
  Diag diag;
  const std::string bytes(text.weights.begin(), text.weights.end());
  if (!write_file_atomic(folder / "graph.yaml", text.yaml, diag) ||
      !write_file_atomic(folder / "weights.bin", bytes, diag))
    refuse(diag);
  api::CompileOptions o;
  o.input = folder / "graph.yaml";
  o.machine = backend_.machine;
  const std::string policy = backend_.is_host() ? "disabled" : backend_.options.policy;
  o.policy = *passes::policy_from_name(policy);
  o.policy_name = passes::policy_name(o.policy);
  o.host_ops = *passes::host_ops_from_name(backend_.is_host() ? "allow" : backend_.options.host_ops);
  if (backend_.options.fabric && !backend_.is_host())
    std::tie(o.fabric_width, o.fabric_height) = *backend_.options.fabric;
  o.baselines = false;
  std::optional<api::Compiled> made = api::compile(o, diag);
  if (!made || !made->program || !diag.ok()) refuse(diag);
  machine_ = std::move(made->machine);
  program_ = std::move(*made->program);
  weights_ = made->weights.bytes();
}

std::string GraphProgram::stale() const {
  for (const auto& [id, weight] : tracer_->weights) {
    const auto& trained = tracer_->training.parameters;
    if (std::find(trained.begin(), trained.end(), id) != trained.end()) continue;
    if (known_.at(weight.data().get()) != weight.data()->value) return tracer_->graph.value(id).name;
  }
  return "";
}

// Trained weights that the host has given other values since the last step.
void GraphProgram::bring_weights() {
  for (const auto& [id, weight] : tracer_->weights) {
    std::shared_ptr<const ops::Tensor>& known = known_.at(weight.data().get());
    if (known == weight.data()->value) continue;
    for (NamedArray& state : states_) {
      if (state.name != tracer_->graph.value(id).name) continue;
      state.tensor = converted(*weight.data()->value, {state.tensor.type.dtype, state.tensor.type.shape});
      known = weight.data()->value;
    }
  }
}

std::map<std::string, ops::Tensor> GraphProgram::run(std::vector<NamedArray> inputs) {
  const Seconds clock(backend_.statistics.execute_seconds);
  const HostPart& host = *program_.host;
  for (const auto& [id, hyper] : tracer_->hypers)
    inputs.push_back({tracer_->graph.value(id).name, *hyper.data()->value});
  std::erase_if(inputs, [&](const NamedArray& a) {  // what the graph does not use the program does not have
    return std::none_of(host.inputs.begin(), host.inputs.end(),
                        [&](const HostTensor& t) { return t.name == a.name; });
  });
  Diag diag;
  if (has_states(host) && !slice_data(host, inputs, diag)) throw RunError(diag.to_string());
  bring_weights();
  // A wafer of its own for each step, which begins where the last one ended.
  sim::EngineDevice device(machine_, {});
  if (!device.load(program_, weights_, diag)) throw RunError(diag.to_string());
  const ModelRunOptions options{
      .samples = 1, .states = states_.empty() ? nullptr : &states_, .steps_before = steps_};
  std::optional<ModelRunResult> result = run_model(device, weights_, inputs, options, diag);
  if (!result) throw RunError(diag.to_string());
  if (!result->status.fault.empty() || result->status.reason != StopReason::condition)
    throw RunError(
        fmt::format("{} at cycle {}\n{}", result->status.fault, result->status.now, result->status.message));
  backend_.statistics.cycles = result->cycles;
  judge_leftovers(device, host);
  states_ = std::move(result->states);
  ++steps_;
  ++backend_.statistics.iterations;
  std::map<std::string, ops::Tensor> results;
  for (NamedArray& a : result->outputs) results.emplace(a.name, std::move(a.tensor));
  shape_as_traced(results);
  keep_weights(results);
  return results;
}

// Outputs of training have a dimension for steps.
void GraphProgram::shape_as_traced(std::map<std::string, ops::Tensor>& results) const {
  for (graph::ValueId id : tracer_->graph.outputs) {
    const graph::Value& v = tracer_->graph.value(id);
    const auto found = results.find(v.name);
    CS_CHECK(found != results.end() && found->second.elements() == v.type.elements(),
             "the program has no output '" + v.name + "' of the traced type");
    found->second.type.shape = v.type.shape;
  }
}

void GraphProgram::keep_weights(std::map<std::string, ops::Tensor>& results) {
  for (const auto& [id, weight] : tracer_->weights) {
    const std::string& name = tracer_->graph.value(id).name;
    TensorData& data = *weight.data();
    const NamedArray* state = find_array(states_, name);
    if (state != nullptr)
      known_[&data] = data.value = std::make_shared<const ops::Tensor>(converted(state->tensor, data.type));
    const auto gradient = results.find("gradient." + name);
    if (gradient != results.end()) data.gradient = converted(gradient->second, data.type);
  }
}

}  // namespace cs::tracing

// Helpers of the mapping tests: see harness.h.
#include "tests/unit/mapping/harness.h"

#include <bit>
#include <cmath>

#include "compiler/csl/csl.h"
#include "runtime/machine/machine.h"
#include "runtime/numerics/numerics.h"
#include "simulator/engine/engine.h"

namespace cs::test {

Machine machine(const std::string& name) {
  Diag diag;
  std::optional<Machine> m =
      load_machine(std::string(CS_SOURCE_DIR) + "/configs/machines/" + name + ".yaml", diag);
  if (!m) throw std::runtime_error(diag.to_string());
  return *m;
}

namespace {
Fp16Format format_of(DataType t) { return t == DataType::bf16 ? Fp16Format::bf16 : Fp16Format::f16; }
bool is_half(DataType t) { return t == DataType::f16 || t == DataType::bf16; }
DataType type_of(const HostPart& host, const std::string& tensor) {
  for (const auto* list : {&host.inputs, &host.outputs, &host.values})
    for (const HostTensor& t : *list)
      if (t.name == tensor) return t.type;
  throw std::runtime_error("no tensor " + tensor);
}
}  // namespace

uint32_t word_of(float f, DataType t) {
  if (!data_type_is_float(t)) return uint32_t(int32_t(f));
  return is_half(t) ? numerics::float_to_half(f, format_of(t)) : std::bit_cast<uint32_t>(f);
}
float number_of(uint32_t word, DataType t) {
  return is_half(t) ? numerics::half_to_float(uint16_t(word), format_of(t)) : std::bit_cast<float>(word);
}

RunResult run(const mapping::Mapped& mapped, const Machine& machine,
              const std::map<std::string, std::vector<float>>& inputs, int samples, int opt_level) {
  RunResult result;
  Diag diag;
  csl::CslOptions options;
  options.opt_level = opt_level;
  options.layout = mapped.layout;
  options.files = mapped.files;
  options.ports = mapped.ports;
  options.fp16 = half_format(mapped.host);
  std::optional<Program> program = csl::compile_csl(options, machine, diag);
  if (!program) return {false, diag.to_string(), {}, {}};
  mapping::attach(mapped, *program);
  if (!verify(*program, machine, diag)) return {false, diag.to_string(), {}, {}};
  sim::Engine engine(machine, {});
  if (!engine.load(*program, mapped.weights.bytes(), diag)) return {false, diag.to_string(), {}, {}};
  std::map<std::string, int> ports;
  for (size_t p = 0; p < program->ports.size(); ++p) ports[program->ports[p].name] = int(p);
  std::vector<std::pair<std::string, int>> receives;
  size_t need = 0;
  for (const HostStep& step : mapped.host.steps) {
    if (step.kind == HostStep::Kind::op)
      return {false, "the graph needs the host operator " + step.op, {}, {}};
    int port = ports.at(step.port);
    if (step.kind == HostStep::Kind::receive) {
      receives.emplace_back(step.tensor, port);
      continue;
    }
    std::vector<uint32_t> words;
    const DataType type = type_of(mapped.host, step.tensor);
    for (float f : inputs.at(step.tensor)) words.push_back(word_of(f, type));
    engine.send(port, words, 0);
  }
  constexpr Cycle kTooLong = 2'000'000;
  while (engine.now() < kTooLong && !engine.faulted() && !engine.idle()) engine.step(kTooLong);
  if (engine.faulted()) return {false, engine.fault().fault + ": " + engine.fault().message, {}, {}};
  for (const auto& [tensor, port] : receives) {
    std::vector<float>& values = result.outputs[tensor];
    const DataType type = type_of(mapped.host, tensor);
    for (const PortEvent& e : engine.received(port)) {
      if (e.control) return {false, "a control wavelet left the wafer", {}, {}};
      values.push_back(number_of(e.data, type));
    }
    need = values.size() / size_t(samples);
    if (values.size() != need * size_t(samples) || need == 0) {
      return {false,
              "received " + std::to_string(values.size()) + " elements\n" + engine.deadlock_report(),
              {},
              {}};
    }
    if (result.sample_ends.empty()) {
      for (int s = 1; s <= samples; ++s) {
        result.sample_ends.push_back(engine.received(port)[need * size_t(s) - 1].cycle);
      }
    }
  }
  result.ok = true;
  return result;
}

RunResult run_graph(const graph::Graph& g, const Machine& machine, const mapping::MapOptions& options,
                    const std::map<std::string, std::vector<float>>& inputs, int samples, int opt_level) {
  Diag diag;
  if (!graph::verify(g, diag)) return {false, diag.to_string(), {}, {}};
  std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  if (!mapped) return {false, diag.to_string(), {}, {}};
  return run(*mapped, machine, inputs, samples, opt_level);
}

std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> list(count);
  uint32_t state = seed * 2654435761U + 1;
  for (float& f : list) {
    state = state * 1664525U + 1013904223U;
    f = float(int32_t(state >> 8) - (1 << 23)) / float(1 << 23);
  }
  return list;
}

graph::ValueId add_op(graph::Graph& g, const std::string& name, const std::string& op,
                      const std::vector<graph::ValueId>& inputs, ops::Shape shape, Origin origin,
                      const std::string& group) {
  graph::Node node;
  node.name = name;
  node.op = op;
  node.inputs = inputs;
  node.where = name;
  node.assignment.origin = origin;
  node.assignment.group = group;
  graph::NodeId id = g.add_node(node);
  graph::ValueId result = g.add_result(id, name + "_out");
  g.value(result).type = {DataType::f32, std::move(shape)};
  g.value(result).typed = true;
  return result;
}

namespace {
// The values become numbers of the type.
ops::Tensor constant(DataType type, ops::Shape shape, std::vector<float>& values) {
  ops::Tensor t(ops::TensorType{type, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = number_of(word_of(values[i], type), type);
    t.set(int64_t(i), double(values[i]));
  }
  return t;
}
}  // namespace

graph::Graph gemm_graph(GemmCase& c) {
  c.w = numbers(size_t(c.n * c.m), 1);
  c.b = numbers(size_t(c.m), 2);
  graph::Graph g;
  g.name = "case";
  graph::ValueId x = g.add_input("x", {c.type, {c.rows, c.n}});
  graph::ValueId w = g.add_constant("w", constant(c.type, {c.n, c.m}, c.w));
  graph::ValueId b = g.add_constant("b", constant(c.type, {c.m}, c.b));
  std::string group = c.activation.empty() ? "" : "kernel";
  graph::ValueId y = add_op(g, "fc", "gemm", {x, w, b}, {c.rows, c.m}, c.origin, group);
  if (!c.activation.empty()) y = add_op(g, "act", c.activation, {y}, {c.rows, c.m}, Origin::autogen, group);
  for (graph::NodeId id : g.nodes()) g.value(g.node(id).outputs[0]).type.dtype = c.type;
  g.set_output(y);
  return g;
}

std::vector<double> gemm_reference(const GemmCase& c, const std::vector<float>& x) {
  std::vector<double> y;
  for (size_t row = 0; row * size_t(c.n) < x.size(); ++row) {
    for (int i = 0; i < c.m; ++i) {
      double sum = c.b[size_t(i)];
      for (int j = 0; j < c.n; ++j)
        sum += double(x[row * size_t(c.n) + size_t(j)]) * c.w[size_t(j * c.m + i)];
      if (c.activation == "relu") sum = std::max(sum, 0.0);
      if (c.activation == "leaky_relu") sum = sum >= 0 ? sum : 0.01 * sum;
      if (c.activation == "sigmoid") sum = 1 / (1 + std::exp(-sum));
      y.push_back(sum);
    }
  }
  return y;
}

}  // namespace cs::test

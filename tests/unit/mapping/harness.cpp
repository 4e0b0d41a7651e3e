// Helpers of the mapping tests: see harness.h.
#include "tests/unit/mapping/harness.h"

#include <bit>
#include <cmath>

#include "compiler/csl/csl.h"
#include "runtime/machine/machine.h"
#include "simulator/engine/engine.h"

namespace cs::test {

Machine machine(const std::string& name) {
  Diag diag;
  std::optional<Machine> m =
      load_machine(std::string(CS_SOURCE_DIR) + "/configs/machines/" + name + ".yaml", diag);
  if (!m) throw std::runtime_error(diag.to_string());
  return *m;
}

RunResult run(const mapping::Mapped& mapped, const Machine& machine,
              const std::map<std::string, std::vector<float>>& inputs, int samples) {
  RunResult result;
  Diag diag;
  csl::CslOptions options;
  options.layout = mapped.layout;
  options.files = mapped.files;
  options.ports = mapped.ports;
  std::optional<Program> program = csl::compile_csl(options, machine, diag);
  if (!program) return {false, diag.to_string(), {}, {}};
  mapping::attach(mapped, *program);
  if (!verify(*program, machine, diag)) return {false, diag.to_string(), {}, {}};
  sim::Engine engine(machine, {});
  if (!engine.load(*program, mapped.weights, diag)) return {false, diag.to_string(), {}, {}};
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
    for (float f : inputs.at(step.tensor)) words.push_back(std::bit_cast<uint32_t>(f));
    engine.send(port, words, 0);
  }
  constexpr Cycle kTooLong = 2'000'000;
  while (engine.now() < kTooLong && !engine.faulted() && !engine.idle()) engine.step(kTooLong);
  if (engine.faulted()) return {false, engine.fault().fault + ": " + engine.fault().message, {}, {}};
  for (const auto& [tensor, port] : receives) {
    std::vector<float>& values = result.outputs[tensor];
    for (const PortEvent& e : engine.received(port)) {
      if (e.control) return {false, "a control wavelet left the wafer", {}, {}};
      values.push_back(std::bit_cast<float>(e.data));
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
                    const std::map<std::string, std::vector<float>>& inputs, int samples) {
  Diag diag;
  if (!graph::verify(g, diag)) return {false, diag.to_string(), {}, {}};
  std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  if (!mapped) return {false, diag.to_string(), {}, {}};
  return run(*mapped, machine, inputs, samples);
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

graph::Graph gemm_graph(GemmCase& c) {
  c.w = numbers(size_t(c.n * c.m), 1);
  c.b = numbers(size_t(c.m), 2);
  graph::Graph g;
  g.name = "case";
  graph::ValueId x = g.add_input("x", {DataType::f32, {c.rows, c.n}});
  graph::ValueId w = g.add_constant("w", ops::Tensor::from_floats({c.n, c.m}, c.w));
  graph::ValueId b = g.add_constant("b", ops::Tensor::from_floats({c.m}, c.b));
  std::string group = c.activation.empty() ? "" : "kernel";
  graph::ValueId y = add_op(g, "fc", "gemm", {x, w, b}, {c.rows, c.m}, c.origin, group);
  if (!c.activation.empty()) y = add_op(g, "act", c.activation, {y}, {c.rows, c.m}, Origin::autogen, group);
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

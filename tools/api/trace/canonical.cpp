// Weights count by their address, as two of equal value are two; everything else by its text.
#include "tools/api/trace/canonical.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/yaml_values.h"
#include "runtime/support/files.h"
#include "runtime/support/yaml.h"

namespace cs::tracing {

namespace {

constexpr int64_t kFew = 4;

std::string names(const graph::Graph& g, const std::vector<graph::ValueId>& values) {
  std::vector<std::string> list;
  for (graph::ValueId v : values) list.push_back(v.valid() ? yaml_quote(g.value(v).name) : "~");
  return fmt::format("[{}]", fmt::join(list, ", "));
}

bool is_weight(const Tracer& t, graph::ValueId v) {
  return std::any_of(t.weights.begin(), t.weights.end(), [&](const auto& w) { return w.first == v; });
}

Line node_line(const Tracer& t, graph::NodeId id) {
  const graph::Node& n = t.graph.node(id);
  Line line;
  line.parts.op = n.op;
  line.parts.attrs = n.attrs;
  line.parts.where = t.place_of(id);
  for (graph::ValueId v : n.inputs) {
    const bool constant = v.valid() && t.graph.value(v).is_constant() && !is_weight(t, v);
    line.parts.constant.push_back(constant);
    line.parts.operands.push_back(!v.valid() ? "~"
                                  : constant ? content(*t.graph.constant_of(v))
                                             : t.graph.value(v).name);
  }
  std::vector<std::string> types;
  for (graph::ValueId v : n.outputs) types.push_back(ops::type_text(t.graph.value(v).type));
  line.parts.type = fmt::format("{}", fmt::join(types, ", "));
  line.text = fmt::format("{} = {}({}{}) -> {}", n.name, n.op, fmt::join(line.parts.operands, ", "),
                          n.attrs.empty() ? "" : ", " + graph::attrs_text(n.attrs), line.parts.type);
  return line;
}

}  // namespace

std::string content(const ops::Tensor& t) {
  if (t.elements() > kFew) {
    const std::string bytes(t.bytes.begin(), t.bytes.end());
    return ops::type_text(t.type) + " " + hash_text(bytes);
  }
  std::vector<std::string> numbers;
  const bool real = data_type_is_float(t.type.dtype);
  for (int64_t i = 0; i < t.elements(); ++i)
    numbers.push_back(real ? graph::number_text(t.get(i)) : std::to_string(t.get_int(i)));
  const std::string list = fmt::format("{}", fmt::join(numbers, ", "));
  return t.type.shape.empty() ? list : "[" + list + "]";
}

std::string recipe_text(const Tracer& t) {
  if (!t.training.loss.valid()) return "";
  std::string text = "training: {loss: " + yaml_quote(t.graph.value(t.training.loss).name);
  if (!t.training.recipe.empty()) text += ", parameters: " + names(t.graph, t.training.parameters);
  text += ", outputs: " + names(t.graph, t.graph.outputs);
  if (!t.training.gradients.empty()) text += ", gradients: " + names(t.graph, t.training.gradients);
  text += "}\n";
  if (!t.training.recipe.empty()) text += "optimizer: " + t.training.recipe + "\n";
  return text;
}

std::vector<Line> canonical(const Tracer& t) {
  std::vector<Line> lines;
  for (graph::ValueId v : t.graph.inputs)
    lines.push_back(
        {Line::Kind::input, t.graph.value(v).name + ": " + ops::type_text(t.graph.value(v).type)});
  for (graph::NodeId id : t.graph.nodes()) lines.push_back(node_line(t, id));
  for (const auto& [v, weight] : t.weights)
    lines.push_back(
        {Line::Kind::weight, fmt::format("{}: {}, tensor {}", t.graph.value(v).name,
                                         ops::type_text(weight.type()), fmt::ptr(weight.data().get()))});
  if (const std::string recipe = recipe_text(t); !recipe.empty())
    lines.push_back({Line::Kind::training, recipe});
  lines.push_back({Line::Kind::outputs, names(t.graph, t.graph.outputs)});
  return lines;
}

bool equal(const std::vector<Line>& a, const std::vector<Line>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Line& x, const Line& y) { return x.kind == y.kind && x.text == y.text; });
}

std::string digest(const std::vector<Line>& lines) {
  std::string all;
  for (const Line& line : lines) all += std::to_string(int(line.kind)) + " " + line.text + "\n";
  return hash_text(all);
}

}  // namespace cs::tracing

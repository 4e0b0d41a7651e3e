// Printer of the text form. Keys come in a fixed order; numbers are printed so that they read back bit for
// bit.
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/graph_yaml.h"
#include "compiler/graph/yaml_values.h"
#include "runtime/program/host_yaml.h"

namespace cs::graph {

namespace {

constexpr int64_t kInlineElements = 16;

std::string element(const ops::Tensor& t, int64_t i) {
  if (!data_type_is_float(t.type.dtype)) return std::to_string(t.get_int(i));
  double v = t.get(i);
  if (t.type.dtype == DataType::f32 && std::isfinite(v)) return fmt::format("{}", float(v));
  return number_text(v);
}

std::string names(const Graph& g, const std::vector<ValueId>& values) {
  std::string s;
  for (ValueId v : values)
    s += (s.empty() ? "" : ", ") + (v.valid() ? yaml_quote(g.value(v).name) : std::string("~"));
  return "[" + s + "]";
}

std::string type_key(const Value& v) { return fmt::format("type: \"{}\"", ops::type_text(v.type)); }

// Payloads with NaN bits other than the default one, and everything big, go to the binary file.
bool fits_inline(const ops::Tensor& t) {
  if (t.elements() > kInlineElements) return false;
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (data_type_is_float(t.type.dtype) && std::isnan(t.get(i))) return false;
  }
  return true;
}

std::string node_line(const Graph& g, const Node& n) {
  std::string s = fmt::format("  - {{name: {}, op: {}, inputs: {}", yaml_quote(n.name), yaml_quote(n.op),
                              names(g, n.inputs));
  if (n.outputs.size() != 1 || g.value(n.outputs[0]).name != n.name) s += ", outputs: " + names(g, n.outputs);
  if (!n.attrs.empty()) s += ", attrs: " + attrs_text(n.attrs);
  if (n.outputs.size() == 1 && g.value(n.outputs[0]).typed) s += ", " + type_key(g.value(n.outputs[0]));
  const Assignment& a = n.assignment;
  if (a.origin) s += fmt::format(", origin: {}", origin_name(*a.origin));
  if (!a.kernel.empty()) s += ", kernel: " + yaml_quote(a.kernel.name());
  if (!a.group.empty()) s += ", group: " + yaml_quote(a.group);
  if (a.whole) s += ", whole: true";
  if (a.rect) s += fmt::format(", at: [{}, {}, {}, {}]", a.rect->x, a.rect->y, a.rect->w, a.rect->h);
  if (!a.reason.empty()) s += ", reason: " + yaml_quote(a.reason);
  if (!n.from.empty()) s += fmt::format(", from: {}, from_op: {}", yaml_quote(n.from), yaml_quote(n.from_op));
  if (!n.where.empty()) s += ", where: " + yaml_quote(n.where);
  return s + "}\n";
}

// Small tensors are written in the text, others lie in the file of weights.
std::string elements_or_offset(const ops::Tensor& t, std::vector<uint8_t>& weights) {
  if (!fits_inline(t)) {
    weights.resize((weights.size() + 15) / 16 * 16);
    const std::string offset = fmt::format("offset: {}", weights.size());
    weights.insert(weights.end(), t.bytes.begin(), t.bytes.end());
    return offset;
  }
  std::string elements;
  for (int64_t k = 0; k < t.elements(); ++k) elements += (k == 0 ? "" : ", ") + element(t, k);
  return "value: [" + elements + "]";
}

}  // namespace

GraphText graph_text(const Graph& g, const std::string& weights_file, const PlanHeader& plan) {
  GraphText out;
  std::string constants;
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const Value& v = g.value({int32_t(i)});
    if (!v.is_constant() || (v.users.empty() && !v.is_output)) continue;
    const ops::Tensor& t = *g.constants[size_t(v.constant)];
    constants += fmt::format("  - {{name: {}, {}, ", yaml_quote(v.name), type_key(v));
    if (v.sample_dim >= 0) constants += fmt::format("sample_dim: {}, ", v.sample_dim);
    if (v.quantised) constants += "quantised: true, ";
    if (v.is_static) constants += "static: true, ";
    constants += elements_or_offset(t, out.weights) + "}\n";
  }
  std::string training;
  if (!g.states.empty()) training += "states:\n";
  for (const State& s : g.states)
    training += fmt::format("  - {{name: {}, purpose: {}, input: {}, output: {}, {}}}\n", yaml_quote(s.name),
                            yaml_quote(s.purpose), yaml_quote(s.input), yaml_quote(s.output),
                            elements_or_offset(*s.initial, out.weights));
  if (!g.scalars.empty()) training += "scalars:\n";
  for (const HostScalar& s : g.scalars) training += fmt::format("  - {}\n", scalar_text(s));
  out.yaml = "graph: " + yaml_quote(g.name) + "\n";
  if (!plan.after.empty())
    out.yaml += fmt::format("plan: {{policy: {}, after: {}{}{}{}}}\n", yaml_quote(plan.policy), yaml_quote(plan.after),
                            plan.form.empty() ? "" : ", form: " + yaml_quote(plan.form),
                            plan.copies == 1 ? "" : fmt::format(", copies: {}", plan.copies),
                            plan.pace == 0 ? "" : fmt::format(", pace: {}", plan.pace));
  if (!out.weights.empty()) out.yaml += "weights: " + yaml_quote(weights_file) + "\n";
  out.yaml += g.inputs.empty() ? "inputs: []\n" : "inputs:\n";
  for (ValueId id : g.inputs) {
    const Value& v = g.value(id);
    out.yaml += fmt::format("  - {{name: {}, {}", yaml_quote(v.name), type_key(v));
    if (v.sample_dim != -1) out.yaml += fmt::format(", sample_dim: {}", v.sample_dim);
    if (v.is_static) out.yaml += ", static: true";
    if (v.assume_aligned) out.yaml += fmt::format(", assume_aligned: {}", *v.assume_aligned);
    if (!v.clone_unaligned) out.yaml += ", clone_unaligned: false";
    out.yaml += "}\n";
  }
  if (!constants.empty()) out.yaml += "constants:\n" + constants;
  out.yaml += training;
  std::vector<NodeId> nodes = g.nodes();
  out.yaml += nodes.empty() ? "nodes: []\n" : "nodes:\n";
  for (NodeId id : nodes) out.yaml += node_line(g, g.node(id));
  out.yaml += g.outputs.empty() ? "outputs: []\n" : "outputs:\n";
  for (ValueId id : g.outputs) {
    const Value& v = g.value(id);
    out.yaml += fmt::format("  - {{name: {}", yaml_quote(v.name));
    if (v.sample_dim >= 0) out.yaml += fmt::format(", sample_dim: {}", v.sample_dim);
    out.yaml += "}\n";
  }
  return out;
}

}  // namespace cs::graph

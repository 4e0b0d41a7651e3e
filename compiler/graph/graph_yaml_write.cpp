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

// The file of weights, or where tensors would lie in it.
class WeightsFile {
 public:
  explicit WeightsFile(std::vector<uint8_t>* bytes) : bytes_(bytes) {}
  size_t size() const { return size_; }
  size_t add(const ops::Tensor& t) {
    const size_t offset = (size_ + 15) / 16 * 16;
    size_ = offset + t.bytes.size();
    if (bytes_ == nullptr) return offset;
    bytes_->resize(offset);
    bytes_->insert(bytes_->end(), t.bytes.begin(), t.bytes.end());
    return offset;
  }

 private:
  std::vector<uint8_t>* bytes_;
  size_t size_ = 0;
};

// Small tensors are written in the text, others lie in the file of weights.
std::string elements_or_offset(const ops::Tensor& t, WeightsFile& weights) {
  if (!fits_inline(t)) return fmt::format("offset: {}", weights.add(t));
  std::string elements;
  for (int64_t k = 0; k < t.elements(); ++k) elements += (k == 0 ? "" : ", ") + element(t, k);
  return "value: [" + elements + "]";
}

std::string yaml_of(const Graph& g, const std::string& weights_file, const PlanHeader& plan, WeightsFile weights) {
  std::string constants;
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const Value& v = g.value({int32_t(i)});
    if (!v.is_constant() || (v.users.empty() && !v.is_output)) continue;
    const ops::Tensor& t = *g.constants[size_t(v.constant)];
    constants += fmt::format("  - {{name: {}, {}, ", yaml_quote(v.name), type_key(v));
    if (v.sample_dim >= 0) constants += fmt::format("sample_dim: {}, ", v.sample_dim);
    if (v.quantised) constants += "quantised: true, ";
    if (v.is_static) constants += "static: true, ";
    constants += elements_or_offset(t, weights) + "}\n";
  }
  std::string training;
  if (!g.states.empty()) training += "states:\n";
  for (const State& s : g.states)
    training += fmt::format("  - {{name: {}, purpose: {}, input: {}, output: {}, {}}}\n", yaml_quote(s.name),
                            yaml_quote(s.purpose), yaml_quote(s.input), yaml_quote(s.output),
                            elements_or_offset(*s.initial, weights));
  if (!g.scalars.empty()) training += "scalars:\n";
  for (const HostScalar& s : g.scalars) training += fmt::format("  - {}\n", scalar_text(s));
  std::string out = "graph: " + yaml_quote(g.name) + "\n";
  if (!plan.after.empty())
    out += fmt::format("plan: {{policy: {}, after: {}{}{}{}}}\n", yaml_quote(plan.policy), yaml_quote(plan.after),
                       plan.form.empty() ? "" : ", form: " + yaml_quote(plan.form),
                       plan.copies == 1 ? "" : fmt::format(", copies: {}", plan.copies),
                       plan.pace == 0 ? "" : fmt::format(", pace: {}", plan.pace));
  if (weights.size() > 0) out += "weights: " + yaml_quote(weights_file) + "\n";
  out += g.inputs.empty() ? "inputs: []\n" : "inputs:\n";
  for (ValueId id : g.inputs) {
    const Value& v = g.value(id);
    out += fmt::format("  - {{name: {}, {}", yaml_quote(v.name), type_key(v));
    if (v.sample_dim != -1) out += fmt::format(", sample_dim: {}", v.sample_dim);
    if (v.is_static) out += ", static: true";
    if (v.assume_aligned) out += fmt::format(", assume_aligned: {}", *v.assume_aligned);
    if (!v.clone_unaligned) out += ", clone_unaligned: false";
    out += "}\n";
  }
  if (!constants.empty()) out += "constants:\n" + constants;
  out += training;
  std::vector<NodeId> nodes = g.nodes();
  out += nodes.empty() ? "nodes: []\n" : "nodes:\n";
  for (NodeId id : nodes) out += node_line(g, g.node(id));
  out += g.outputs.empty() ? "outputs: []\n" : "outputs:\n";
  for (ValueId id : g.outputs) {
    const Value& v = g.value(id);
    out += fmt::format("  - {{name: {}", yaml_quote(v.name));
    if (v.sample_dim >= 0) out += fmt::format(", sample_dim: {}", v.sample_dim);
    out += "}\n";
  }
  return out;
}

}  // namespace

GraphText graph_text(const Graph& g, const std::string& weights_file, const PlanHeader& plan) {
  GraphText out;
  out.yaml = yaml_of(g, weights_file, plan, WeightsFile(&out.weights));
  return out;
}

std::string graph_yaml(const Graph& g, const std::string& weights_file, const PlanHeader& plan) {
  return yaml_of(g, weights_file, plan, WeightsFile(nullptr));
}

}  // namespace cs::graph

// Making the graph of a case: one node; operands are numbered, "x0" at run time or constant. Every result of
// the node is an output.
#include "tools/cs-regress/kernel_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/graph/graph_yaml.h"
#include "compiler/graph/yaml_values.h"
#include "compiler/passes/shards.h"
#include "runtime/host/npz.h"
#include "runtime/ops/losses.h"
#include "runtime/support/files.h"

namespace cs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool read_operand(const YamlNode& node, Operand& out, Diag& diag) {
  YamlMap map(node, "operand", diag);
  bool ok = map.optional("absent", out.absent) && (out.absent || map.required("shape", out.shape)) &&
            map.optional("constant", out.constant) && map.optional("below", out.below) &&
            map.optional("range", out.range) && map.optional("values", out.values);
  map.finish();
  if (ok && (out.range.size() != 2 || out.range[0] > out.range[1])) {
    diag.error(map.loc(), "'range' must be [from, to]");
    return false;
  }
  return ok;
}

bool read_case(const YamlNode& node, KernelCase& out, Diag& diag) {
  YamlMap map(node, "case", diag);
  std::vector<int> rect;
  bool ok = map.required("rect", rect) && map.optional("resident", out.resident) &&
            map.optional("shards", out.shards) &&
            map.optional("half", out.half) && map.optional("cause", out.cause) &&
            map.optional("walk_missed", out.walk_missed);
  if (ok && (rect.size() != 2 || rect[0] < 1 || rect[1] < 1)) {
    diag.error(map.loc(), "'rect' must be [width, height] in PEs, each at least 1");
    return false;
  }
  if (ok && (out.shards < 1 || out.shards > passes::kMostShards || rect[0] % out.shards != 0 ||
             (out.resident && out.shards > 1))) {
    diag.error(map.loc(),
               fmt::format("'shards' must be from 1 to {} and divide the columns of 'rect'", passes::kMostShards),
               "resident operands have none");
    return false;
  }
  if (ok) out.width = rect[0], out.height = rect[1];
  const YamlNode* operands = map.child("operands");
  map.finish();
  if (operands == nullptr || !operands->is_sequence()) {
    diag.error(map.loc(), "a case needs a list 'operands'");
    return false;
  }
  for (const YamlNode& item : operands->items())
    ok = read_operand(item, out.operands.emplace_back(), diag) && ok;
  return ok;
}

bool read_attributes(const ops::OpDef& row, const YamlNode& node, Attrs& out, Diag& diag) {
  if (!node.is_map()) {
    diag.error(node.loc(), "'attrs' must be a map");
    return false;
  }
  for (const auto& [key, value] : node.entries()) {
    const auto def = std::find_if(row.attrs.begin(), row.attrs.end(),
                                  [&name = key](const ops::AttrDef& a) { return a.name == name.text(); });
    std::optional<AttrValue> v;
    if (def != row.attrs.end()) v = graph::read_attr(value, def->kind);
    if (!v) {
      diag.error(value.loc(),
                 fmt::format("{} has no attribute '{}' with such a value", row.name, key.text()));
      return false;
    }
    ops::set_attr(out, key.text(), std::move(*v));
  }
  return true;
}

// The same numbers everywhere: a linear congruential generator.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  double unit() {  // [0, 1)
    state_ = state_ * 1664525U + 1013904223U;
    return double(state_ >> 8) / 16777216.0;
  }

 private:
  uint32_t state_;
};

ops::Tensor filled(const Operand& o, DataType floats, int samples, uint32_t seed) {
  ops::TensorType type{o.below > 0 ? DataType::i64 : floats, o.shape};
  if (samples > 1) type.shape[0] = samples;
  ops::Tensor t(type);
  Numbers numbers(seed);
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (o.below > 0)
      t.set_int(i, int64_t(numbers.unit() * double(o.below)));
    else if (!o.values.empty())
      t.set(i, o.values[size_t(numbers.unit() * double(o.values.size()))]);
    else
      t.set(i, o.range[0] + (o.range[1] - o.range[0]) * numbers.unit());
  }
  return t;
}

struct Made {
  graph::Graph graph;
  std::vector<NamedArray> inputs, expected;
};

bool evaluate_case(const KernelCase& c, const ops::OpDef& row, const std::vector<ops::Tensor>& operands,
                   Made& made, std::string& error) {
  Diag diag;
  std::vector<ops::Tensor> results;
  std::vector<const ops::Tensor*> given;
  for (size_t i = 0; i < operands.size(); ++i) given.push_back(c.operands[i].absent ? nullptr : &operands[i]);
  if (!ops::evaluate(row, c.attrs, given, results, diag)) {
    error = diag.to_string();
    return false;
  }
  for (size_t k = 0; k < results.size() && k < made.graph.outputs.size(); ++k)
    made.expected.push_back({made.graph.value(made.graph.outputs[k]).name, std::move(results[k])});
  return true;
}

bool make(const KernelCase& c, Made& made, std::string& error) {
  const ops::OpDef& row = *ops::find_op(c.op);
  graph::Graph& g = made.graph;
  g.name = c.op;
  graph::Node node;
  node.name = "kernel";
  node.op = c.op;
  node.attrs = c.attrs;
  node.where = c.op;
  if (c.fused) ops::set_attr(node.attrs, ops::kUseAutogen, int64_t(*c.fused || c.resident));
  bool samples = !c.fused;  // of all operands at run time, or of none; a loss is one of all of them
  for (const Operand& o : c.operands)
    samples = samples && (o.constant || (!o.shape.empty() && o.shape[0] == 1));
  std::vector<ops::Tensor> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Operand& o = c.operands[i];
    const std::string name = fmt::format("x{}", i);
    if (o.absent) {
      operands.emplace_back();
      node.inputs.emplace_back();
      continue;
    }
    operands.push_back(filled(o, c.half ? DataType::f16 : DataType::f32,
                              !o.constant && samples ? c.samples() : 1, uint32_t(i) + 1));
    if (o.constant) {
      node.inputs.push_back(g.add_constant(name, operands.back()));
    } else {
      ops::TensorType one = operands.back().type;
      one.shape = o.shape;
      node.inputs.push_back(g.add_input(name, one, samples ? 0 : -1));
      made.inputs.push_back({name, operands.back()});
    }
  }
  const graph::NodeId id = g.add_node(std::move(node));
  g.set_output(g.add_result(id, "y"));
  Diag diag;
  if (!graph::infer_node(g, id, diag) || !graph::verify(g, diag)) {
    error = diag.to_string();
    return false;
  }
  return evaluate_case(c, row, operands, made, error);
}

}  // namespace

std::string KernelCase::shapes() const {
  std::string out;
  for (const Operand& o : operands) {
    if (o.absent) continue;
    std::string one;
    for (int64_t extent : o.shape) one += (one.empty() ? "" : "x") + std::to_string(extent);
    out += (out.empty() ? "" : " ") + one;
  }
  return out;
}

bool read_kernel_cases(const std::string& op, const YamlNode* attrs, const YamlNode& cases,
                       std::vector<KernelCase>& out, Diag& diag) {
  const ops::OpDef* row = ops::find_op(op);
  if (row == nullptr) {
    diag.error(cases.loc(), "there is no operator '" + op + "'", "cs-compile --list-ops lists them");
    return false;
  }
  KernelCase base;
  base.op = op;
  if (attrs != nullptr && !read_attributes(*row, *attrs, base.attrs, diag)) return false;
  if (!cases.is_sequence() || cases.items().empty()) {
    diag.error(cases.loc(), "'cases' must be a list of at least one case");
    return false;
  }
  bool ok = true;
  for (const YamlNode& node : cases.items()) {
    out.push_back(base);
    ok = read_case(node, out.back(), diag) && ok;
  }
  return ok;
}

bool write_kernel_case(const KernelCase& c, const std::string& folder, std::string& error) {
  Made made;
  if (!make(c, made, error)) return false;
  Diag diag;
  fs::create_directories(folder);
  const graph::GraphText text = graph::graph_text(made.graph, "model.bin");
  const std::string_view weights(reinterpret_cast<const char*>(text.weights.data()), text.weights.size());
  if (write_file_atomic(folder + "/model.yaml", text.yaml, diag) &&
      write_npz(folder + "/inputs.npz", made.inputs, diag) &&
      write_npz(folder + "/expected.npz", made.expected, diag) &&
      (weights.empty() || write_file_atomic(folder + "/model.bin", weights, diag)))
    return true;
  error = diag.to_string();
  return false;
}

std::optional<KernelFigures> read_kernel_figures(const KernelCase& c, const std::string& compile_report,
                                                 double cycles, std::string& error) {
  Diag diag;
  const auto text = read_file(compile_report, diag);
  const json report = json::parse(text.value_or(""), nullptr, false);
  if (report.is_discarded() || !report.is_object()) {
    error = compile_report + " is no JSON object";
    return std::nullopt;
  }
  KernelFigures f;
  f.cycles = cycles;
  std::set<std::string> names;
  for (const json& k : report.value("kernels", json::array())) {
    if (k.value("nodes", json::array()).empty()) continue;
    if (int(names.size()) == c.shards || k.value("origin", "") == "host") {
      error = fmt::format("is not {}: {} ({})", c.shards == 1 ? "one kernel" : fmt::format("{} kernels", c.shards),
                          k.value("kernel", "?"), k.value("reason", ""));
      return std::nullopt;
    }
    names.insert(k.value("name", ""));
    f.origin = k.value("origin", "");
    f.kernel = k.value("kernel", "");
  }
  size_t placed = 0;
  for (const json& p : report.value("placement", json::array())) {
    if (!names.contains(p.value("name", "")) || !p.contains("ideal")) continue;
    ++placed;
    f.estimated = std::max(f.estimated, p.value("interval_cycles", 0.0));
    if (const double ideal = p["ideal"].value("cycles", 0.0); ideal > f.ideal)
      f.ideal = ideal, f.largest = p["ideal"].value("largest", "");
    const json rect = p.value("rect", json::array({0, 0, 0, 0}));
    if (rect.at(2) != c.width_of_shard() || rect.at(3) != c.height) {
      error = fmt::format("lies on {} x {} PEs instead of {} x {}", rect.at(2).get<int>(), rect.at(3).get<int>(),
                          c.width_of_shard(), c.height);
      return std::nullopt;
    }
  }
  if (placed == names.size() && placed > 0) return f;
  error = "is not on the wafer";
  return std::nullopt;
}

double walked_cycles(const std::string& objdump_json) {
  const json all = json::parse(objdump_json, nullptr, false);
  if (!all.is_object() || !all.contains("cycles")) return 0;
  const json& kernel = all["cycles"].value("kernel", json());
  return kernel.is_object() ? kernel.value("cycles", 0.0) : 0;
}

}  // namespace cs

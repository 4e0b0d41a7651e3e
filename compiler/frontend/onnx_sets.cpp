// The files are numbered in the order of the graph's run-time inputs and outputs; an absent optional input
// has no number of its own. Files of later versions repeat the value's name, which then decides.
#include "compiler/frontend/onnx_sets.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/onnx_importer.h"
#include "runtime/ops/ops.h"
#include "runtime/support/files.h"

namespace cs::frontend {

namespace {

struct Recorded {
  onnx::TensorProto proto;
  ops::Tensor tensor;
};

std::optional<Recorded> read_recorded(const std::string& file, Diag& diag) {
  const std::optional<std::string> bytes = read_file(file, diag);
  if (!bytes) return std::nullopt;
  std::optional<std::pair<std::string, ops::Tensor>> read = read_onnx_tensor(*bytes, file, diag);
  Recorded r;
  if (!read || !parse_message(*bytes, r.proto)) return std::nullopt;
  r.tensor = std::move(read->second);
  return r;
}

// Names that only feed operands which the operator's row takes as constants.
std::set<std::string> must_be_constant(const onnx::GraphProto& graph, int64_t opset) {
  std::set<std::string> constant, other;
  for (const onnx::NodeProto& n : graph.node()) {
    const ops::OpDef* row = row_of(n.op_type(), opset);
    for (int i = 0; i < n.input_size(); ++i) {
      const bool attribute =
          row != nullptr && std::any_of(row->onnx_inputs.begin(), row->onnx_inputs.end(),
                                        [&](const ops::OnnxInputAttr& a) { return a.input == i; });
      const bool value =
          row != nullptr && std::count(row->constant_operands.begin(), row->constant_operands.end(), i) > 0;
      const bool trips = (n.op_type() == "If" && i == 0) || (n.op_type() == "Loop" && i < 2);
      (attribute || value || trips ? constant : other).insert(n.input(i));
    }
  }
  for (const std::string& name : other) constant.erase(name);
  return constant;
}

// input_0.pb, input_1.pb ... with the names they belong to.
bool read_all(const std::string& folder, const std::string& stem, const std::vector<std::string>& names,
              std::vector<std::pair<std::string, Recorded>>& out, Diag& diag) {
  for (size_t k = 0; k < names.size(); ++k) {
    const std::string file = (std::filesystem::path(folder) / fmt::format("{}_{}.pb", stem, k)).string();
    if (!std::filesystem::exists(file)) {
      diag.error_at(file, fmt::format("the set has {} of the model's {} {}s", k, names.size(), stem));
      return false;
    }
    std::optional<Recorded> r = read_recorded(file, diag);
    if (!r) return false;
    const bool named = std::find(names.begin(), names.end(), r->proto.name()) != names.end();
    out.emplace_back(named ? r->proto.name() : names[k], std::move(*r));
  }
  return true;
}

void add_dims(const onnx::ValueInfoProto& input, const ops::Tensor& value,
              const std::optional<std::string>& sample, Dims& dims) {
  const auto& shape = input.type().tensor_type().shape();
  for (int d = 0; d < shape.dim_size() && d < value.type.rank(); ++d) {
    if (!is_symbolic(shape.dim(d)) || sample == symbol_of(shape.dim(d))) continue;
    const std::string name = symbol_of(shape.dim(d));
    if (!value_of(dims, name)) dims.emplace_back(name, value.type.shape[size_t(d)]);
  }
}

}  // namespace

std::optional<OnnxSet> read_onnx_set(const std::string& model_file, const std::string& folder, Diag& diag) {
  const std::optional<std::string> bytes = read_file(model_file, diag, uint64_t(1) << 31);
  if (!bytes) return std::nullopt;
  onnx::ModelProto model;
  if (!parse_message(*bytes, model) || !model.has_graph()) {
    diag.error_at(model_file, "not an ONNX model: the file is truncated or damaged");
    return std::nullopt;
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  std::vector<const onnx::ValueInfoProto*> inputs = runtime_inputs(graph);
  std::vector<std::string> input_names, output_names;
  for (const onnx::ValueInfoProto* v : inputs) input_names.push_back(v->name());
  for (const onnx::ValueInfoProto& v : graph.output()) output_names.push_back(v.name());
  std::vector<std::pair<std::string, Recorded>> in, out;
  if (!read_all(folder, "input", input_names, in, diag)) return std::nullopt;
  if (!read_all(folder, "output", output_names, out, diag)) return std::nullopt;

  OnnxSet set;
  const std::optional<std::string> sample = sample_symbol(graph, {});
  const std::set<std::string> constants = must_be_constant(graph, opset_of(model));
  for (auto& [name, recorded] : in) {
    const auto input = std::find(input_names.begin(), input_names.end(), name) - input_names.begin();
    if (constants.contains(name)) {
      recorded.proto.set_name(name);
      *graph.add_initializer() = std::move(recorded.proto);
    } else {
      add_dims(*inputs[size_t(input)], recorded.tensor, sample, set.dims);
      set.inputs.emplace_back(name, std::move(recorded.tensor));
    }
  }
  for (auto& [name, recorded] : out) set.outputs.emplace_back(name, std::move(recorded.tensor));
  set.model = model.SerializeAsString();
  return set;
}

}  // namespace cs::frontend

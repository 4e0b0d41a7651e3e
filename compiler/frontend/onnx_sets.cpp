// The files are numbered in the order of the graph's run-time inputs and outputs; an absent optional input
// has no number of its own. Files of later versions repeat the value's name, which then decides.
//
// How many tensors a sequence has, and whether an optional holds something, is known from the recorded value
// alone: an input of these types becomes one of its tensors, and an operator that makes it of them.
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
  std::string name;
  std::vector<onnx::TensorProto> protos;  // one of a tensor
  std::vector<ops::Tensor> tensors;
  bool list = false;    // of a sequence
  bool absent = false;  // an optional that holds nothing
};

// What a file holds, by the type that the model gives it.
bool parse_recorded(const std::string& bytes, const onnx::TypeProto& type, Recorded& r) {
  auto elements = [&](const onnx::SequenceProto& s) {
    r.list = true;
    r.protos.assign(s.tensor_values().begin(), s.tensor_values().end());
    return s.elem_type() == onnx::SequenceProto::TENSOR || s.elem_type() == onnx::SequenceProto::UNDEFINED;
  };
  if (type.has_sequence_type()) {
    onnx::SequenceProto s;
    if (!parse_message(bytes, s)) return false;
    r.name = s.name();
    return elements(s);
  }
  if (type.has_optional_type()) {
    onnx::OptionalProto o;
    if (!parse_message(bytes, o)) return false;
    r.name = o.name();
    if (o.has_sequence_value()) return elements(o.sequence_value());
    r.absent = !o.has_tensor_value();
    if (!r.absent) r.protos.push_back(o.tensor_value());
    return true;
  }
  if (!parse_message(bytes, r.protos.emplace_back())) return false;
  r.name = r.protos[0].name();
  return true;
}

std::optional<Recorded> read_recorded(const std::string& file, const onnx::TypeProto& type, Diag& diag) {
  const std::optional<std::string> bytes = read_file(file, diag);
  if (!bytes) return std::nullopt;
  Recorded r;
  std::string error = "the file is truncated or damaged, or holds no tensors";
  const bool parsed = parse_recorded(*bytes, type, r);
  for (const onnx::TensorProto& p : r.protos) {
    if (std::optional<ops::Tensor> t = parsed ? onnx_tensor(p, error) : std::nullopt)
      r.tensors.push_back(std::move(*t));
  }
  if (parsed && r.tensors.size() == r.protos.size()) return r;
  diag.error_at(file, error);
  return std::nullopt;
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
      const std::string& op = n.op_type();
      const bool trips = (op == "If" && i == 0) || (op == "Loop" && i < 2);
      const bool place = Importer::is_sequence_op(op) && op != "SequenceConstruct" && op != "SequenceMap" &&
                         i == (op == "SequenceInsert" ? 2 : 1);
      (attribute || value || trips || place ? constant : other).insert(n.input(i));
    }
  }
  for (const std::string& name : other) constant.erase(name);
  return constant;
}

// input_0.pb, input_1.pb ... with the names they belong to.
bool read_all(const std::string& folder, const std::string& stem,
              const std::vector<onnx::ValueInfoProto>& values,
              std::vector<std::pair<std::string, Recorded>>& out, Diag& diag) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& v : values) names.push_back(v.name());
  for (size_t k = 0; k < names.size(); ++k) {
    const std::string file = (std::filesystem::path(folder) / fmt::format("{}_{}.pb", stem, k)).string();
    if (!std::filesystem::exists(file)) {
      diag.error_at(file, fmt::format("the set has {} of the model's {} {}s", k, names.size(), stem));
      return false;
    }
    std::optional<Recorded> r = read_recorded(file, values[k].type(), diag);
    if (!r) return false;
    const bool named = std::find(names.begin(), names.end(), r->name) != names.end();
    out.emplace_back(named ? r->name : names[k], std::move(*r));
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

template <typename Values>
auto named(Values& values, const std::string& name) {
  return std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.name() == name; });
}

// In place of an input that is a sequence or an optional.
void make_of_tensors(const std::string& name, const Recorded& recorded, OnnxSet& set,
                     onnx::GraphProto& graph) {
  onnx::NodeProto make;
  make.set_op_type(!recorded.list             ? "Optional"
                   : recorded.tensors.empty() ? "SequenceEmpty"
                                              : "SequenceConstruct");
  make.add_output(name);
  auto& inputs = *graph.mutable_input();
  inputs.erase(named(inputs, name));
  for (size_t k = 0; k < recorded.tensors.size(); ++k) {
    onnx::ValueInfoProto& element = *graph.add_input();
    element.set_name(fmt::format("{}_{}", name, k));
    onnx::TypeProto::Tensor& type = *element.mutable_type()->mutable_tensor_type();
    type.set_elem_type(recorded.protos[k].data_type());
    type.mutable_shape();  // there also where it has no dimension
    for (int64_t extent : recorded.protos[k].dims()) type.mutable_shape()->add_dim()->set_dim_value(extent);
    make.add_input(element.name());
    set.inputs.emplace_back(element.name(), recorded.tensors[k]);
  }
  // Before all others: nodes stand behind what they take.
  auto& nodes = *graph.mutable_node();
  *nodes.Add() = std::move(make);
  std::rotate(nodes.pointer_begin(), nodes.pointer_end() - 1, nodes.pointer_end());
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
  std::vector<onnx::ValueInfoProto> inputs;
  for (const onnx::ValueInfoProto* v : runtime_inputs(graph)) inputs.push_back(*v);
  std::vector<std::pair<std::string, Recorded>> in, out;
  if (!read_all(folder, "input", inputs, in, diag)) return std::nullopt;
  if (!read_all(folder, "output", {graph.output().begin(), graph.output().end()}, out, diag))
    return std::nullopt;

  OnnxSet set;
  auto is_tensor = [](const auto& v) { return !v.second.list && !v.second.absent; };
  // The samples of what is in a sequence are as many as were recorded.
  const std::optional<std::string> sample =
      std::all_of(in.begin(), in.end(), is_tensor) ? sample_symbol(graph, {}) : std::nullopt;
  const std::set<std::string> constants = must_be_constant(graph, opset_of(model));
  for (auto& [name, recorded] : in) {
    const auto input = named(inputs, name);
    if (!input->type().has_tensor_type()) {
      make_of_tensors(name, recorded, set, graph);
    } else if (constants.contains(name)) {
      recorded.protos[0].set_name(name);
      *graph.add_initializer() = std::move(recorded.protos[0]);
    } else {
      add_dims(*input, recorded.tensors[0], sample, set.dims);
      set.inputs.emplace_back(name, std::move(recorded.tensors[0]));
    }
  }
  for (auto& [name, recorded] : out) {
    for (size_t k = 0; k < recorded.tensors.size(); ++k)
      set.outputs.emplace_back(recorded.list ? fmt::format("{}_{}", name, k) : name,
                               std::move(recorded.tensors[k]));
  }
  set.model = model.SerializeAsString();
  return set;
}

}  // namespace cs::frontend

// ONNX import, nodes: constants, attributes, constant operands.
#include <filesystem>

#include <fmt/format.h>

#include "compiler/frontend/onnx_importer.h"
#include "compiler/graph/fold.h"

namespace cs::frontend {

using graph::NodeId;
using graph::ValueId;

namespace {

template <typename T>
ops::Tensor from_list(DataType dtype, ops::Shape shape, const std::vector<T>& values) {
  ops::Tensor t(ops::TensorType{dtype, std::move(shape)});
  for (size_t k = 0; k < values.size(); ++k) {
    if constexpr (std::is_integral_v<T>) {
      t.set_int(int64_t(k), values[k]);
    } else {
      t.set(int64_t(k), values[k]);
    }
  }
  return t;
}

std::optional<ops::Tensor> from_attr(const AttrValue& v) {
  if (const auto* i = std::get_if<int64_t>(&v)) return from_list(DataType::i64, {}, std::vector<int64_t>{*i});
  if (const auto* d = std::get_if<double>(&v)) return from_list(DataType::f32, {}, std::vector<double>{*d});
  if (const auto* i = std::get_if<std::vector<int64_t>>(&v))
    return from_list(DataType::i64, {int64_t(i->size())}, *i);
  if (const auto* d = std::get_if<std::vector<double>>(&v))
    return from_list(DataType::f32, {int64_t(d->size())}, *d);
  return std::nullopt;
}

}  // namespace

bool Importer::operands_of(int i, std::vector<ValueId>& operands) {
  for (const std::string& name : node(i).input()) {
    if (name.empty()) {
      operands.push_back(ValueId{});
      continue;
    }
    if (failed_.contains(name)) return false;
    std::optional<ValueId> v = g_.find_value(name);
    if (!v)
      return bad(i, is_list(name) ? fmt::format("operand '{}' is a sequence or an optional, {} takes tensors",
                                                name, node(i).op_type())
                                  : fmt::format("there is no tensor '{}' before this node", name));
    operands.push_back(*v);
  }
  return true;
}

void Importer::add_node(int i) {
  const onnx::NodeProto& n = node(i);
  const bool list = n.op_type() == "Identity" && n.input_size() == 1 && is_list(n.input(0));
  bool ok = is_training_op(n)                     ? add_training(i)
            : n.op_type() == "Constant"           ? add_constant(i)
            : has_body(n.op_type())               ? add_body_node(i)
            : list || is_sequence_op(n.op_type()) ? add_sequence_node(i)
                                                  : add_operator(i);
  if (!ok) failed_.insert(n.output().begin(), n.output().end());
}

bool Importer::add_constant(int i) {
  const onnx::NodeProto& n = node(i);
  if (n.attribute_size() != 1 || n.output_size() != 1)
    return bad(i, "a constant needs one attribute and one result");
  const onnx::AttributeProto& a = n.attribute(0);
  std::optional<ops::Tensor> t;
  std::string error = fmt::format("constants of the form '{}' are not supported", a.name());
  if (a.name() == "value" && a.has_t()) {
    t = onnx_tensor(a.t(), error);
  } else if (std::optional<AttrValue> v = onnx_attr(a)) {
    t = from_attr(*v);
  }
  if (!t) return bad(i, error);
  if (!new_value(n.output(0))) return false;
  g_.add_constant(n.output(0), std::move(*t));
  return true;
}

bool Importer::add_operator(int i) {
  const onnx::NodeProto& n = node(i);
  const ops::OpDef* row = row_of(n.op_type(), opset_);
  CS_CHECK(row != nullptr, "unsupported operators were listed before");
  std::vector<ValueId> operands;
  if (!operands_of(i, operands)) return false;
  if (n.output_size() == 0) return bad(i, "the node has no result");
  Attrs attrs;
  std::vector<std::string> results;
  if (!attributes_of(i, *row, attrs) || !constant_operands(i, *row, operands, attrs) ||
      !known_operands(i, *row, operands) || !adapt(i, row, operands, attrs) ||
      !result_names(i, *row, results)) {
    return false;
  }
  if (row->name == "softmax" || row->name == "log_softmax" || row->name == "hardmax")
    return add_softmax(i, *row, operands, attrs);
  if ((row->onnx_fold && operands.size() != 2) || n.op_type() == "Mean") return add_folded(i, *row, operands);
  return emit(i, names_[size_t(i)], *row, operands, attrs, results).valid();
}

bool Importer::result_names(int i, const ops::OpDef& row, std::vector<std::string>& results) {
  const onnx::NodeProto& n = node(i);
  for (int k = 0; k < n.output_size(); ++k) {
    const bool used = !n.output(k).empty() && is_used(n.output(k));
    if (used && size_t(k) >= row.results.size() && !row.variadic_results)
      return bad(i, fmt::format("its result {} ('{}') is not supported", k, n.output(k)));
    if (!n.output(k).empty() && (used || k == 0 || row.variadic_results) && !new_value(n.output(k)))
      return false;
    if (used || k == 0 || row.variadic_results) {
      results.resize(size_t(k) + 1);
      results[size_t(k)] = n.output(k);
    }
  }
  size_t least = row.results.size() - size_t(row.optional_results);
  if (results.size() < least) results.resize(least);
  return true;
}

bool Importer::known_operands(int, const ops::OpDef& row, std::vector<ValueId>& operands) {
  for (int k : row.constant_operands) {
    if (size_t(k) >= operands.size() || !operands[size_t(k)].valid()) continue;
    std::string name = g_.value(operands[size_t(k)]).name;
    graph::fold_value(g_, operands[size_t(k)], diag_);
    operands[size_t(k)] = *g_.find_value(name);
  }
  return true;
}

bool Importer::attributes_of(int i, const ops::OpDef& row, Attrs& attrs) {
  for (const onnx::AttributeProto& a : node(i).attribute()) {
    if (a.name() == "consumed_inputs" || (row.name == "constant_of_shape" && a.has_t())) continue;
    std::optional<AttrValue> v = onnx_attr(a);
    std::string name = snake_case(a.name());
    if (!v) return bad(i, fmt::format("attribute '{}' has a form that is not supported", a.name()));
    // A type is a number there and a name here.
    const auto* code = std::get_if<int64_t>(&*v);
    if (code != nullptr && (name == "to" || name == "dtype")) {
      std::optional<DataType> t = onnx_dtype(int(*code));
      if (!t) return bad(i, fmt::format("elements of {} are not supported", onnx_dtype_name(int(*code))));
      v = std::string(data_type_name(*t));
    }
    ops::set_attr(attrs, name, std::move(*v));
  }
  return true;
}

bool Importer::constant_operands(int i, const ops::OpDef& row, std::vector<ValueId>& operands, Attrs& attrs) {
  for (auto it = row.onnx_inputs.rbegin(); it != row.onnx_inputs.rend(); ++it) {
    if (size_t(it->input) >= operands.size()) continue;
    ValueId v = operands[size_t(it->input)];
    operands.erase(operands.begin() + it->input);
    if (!v.valid()) continue;
    std::string name = g_.value(v).name;
    const ops::Tensor* t = graph::fold_value(g_, v, diag_);
    if (t == nullptr) {
      return bad(i, fmt::format("input '{}' ({}) must be a constant, but '{}' is computed at run time",
                                it->input, it->attr, name));
    }
    set_from_tensor(row, it->attr, *t, attrs);
  }
  return true;
}

void Importer::set_from_tensor(const ops::OpDef& row, std::string_view attr, const ops::Tensor& t,
                               Attrs& attrs) {
  for (const ops::AttrDef& def : row.attrs) {
    bool list = def.kind == ops::AttrKind::integers || def.kind == ops::AttrKind::reals;
    if (def.name != attr || (t.elements() == 0 && !list)) continue;
    if (def.kind == ops::AttrKind::integers) {
      std::vector<int64_t> list;
      for (int64_t k = 0; k < t.elements(); ++k) list.push_back(t.get_int(k));
      ops::set_attr(attrs, attr, std::move(list));
    } else if (def.kind == ops::AttrKind::reals) {
      std::vector<double> values;
      for (int64_t k = 0; k < t.elements(); ++k) values.push_back(t.get(k));
      ops::set_attr(attrs, attr, std::move(values));
    } else if (def.kind == ops::AttrKind::integer) {
      ops::set_attr(attrs, attr, t.get_int(0));
    } else {
      ops::set_attr(attrs, attr, t.get(0));
    }
  }
}

ValueId Importer::emit(int i, const std::string& name, const ops::OpDef& row, std::vector<ValueId> operands,
                       Attrs attrs, const std::vector<std::string>& results) {
  while (!operands.empty() && !operands.back().valid()) operands.pop_back();
  graph::Node n;
  n.name = name;
  n.op = row.name;
  n.inputs = std::move(operands);
  n.attrs = std::move(attrs);
  // The artefact names the file, not where it lay: equal models give equal bytes.
  n.where = fmt::format("{}: node {} ({})", std::filesystem::path(file_).filename().string(),
                        names_[size_t(i)], node(i).op_type());
  NodeId id = g_.add_node(std::move(n));
  for (const std::string& result : results)
    g_.add_result(id, result.empty() ? g_.fresh_name(name + "_unused") : result);
  return graph::infer_node(g_, id, diag_) ? g_.node(id).outputs[0] : ValueId{};
}

ValueId Importer::reshaped(int i, ValueId value, const ops::Shape& shape) {
  std::string name = g_.fresh_name(names_[size_t(i)] + "_shaped");
  return emit(i, name, *ops::find_op("reshape"), {value}, {{"allowzero", int64_t(1)}, {"shape", shape}},
              {g_.fresh_name(name + "_out")});
}

}  // namespace cs::frontend

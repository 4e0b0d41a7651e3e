// ONNX import, nodes: constants, attributes, constant operands, and the operators whose ONNX form is not
// ours.
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
  if (const auto* i = std::get_if<int64_t>(&v))
    return from_list(DataType::i64, {}, std::vector<int64_t>{*i});
  if (const auto* d = std::get_if<double>(&v)) return from_list(DataType::f32, {}, std::vector<double>{*d});
  if (const auto* i = std::get_if<std::vector<int64_t>>(&v))
    return from_list(DataType::i64, {int64_t(i->size())}, *i);
  if (const auto* d = std::get_if<std::vector<double>>(&v))
    return from_list(DataType::f32, {int64_t(d->size())}, *d);
  return std::nullopt;
}

}  // namespace

bool Importer::operands_of(int i, std::vector<ValueId>& operands) {
  for (const std::string& name : proto_.node(i).input()) {
    if (name.empty()) {
      operands.push_back(ValueId{});
      continue;
    }
    std::optional<ValueId> v = g_.find_value(name);
    if (!v) {
      if (!failed_.count(name))
        diag_.error_at(where(i), fmt::format("there is no tensor '{}' before this node", name));
      return false;
    }
    operands.push_back(*v);
  }
  return true;
}

void Importer::add_node(int i) {
  const onnx::NodeProto& n = proto_.node(i);
  bool ok = n.op_type() == "Constant" ? add_constant(i) : add_operator(i);
  if (!ok) failed_.insert(n.output().begin(), n.output().end());
}

bool Importer::add_constant(int i) {
  const onnx::NodeProto& n = proto_.node(i);
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
  const onnx::NodeProto& n = proto_.node(i);
  const ops::OpDef* row = ops::find_onnx_op(n.op_type() == "Mean" ? "Sum" : n.op_type());
  CS_CHECK(row != nullptr, "unsupported operators were listed before");
  std::vector<ValueId> operands;
  if (!operands_of(i, operands)) return false;
  if (n.output_size() == 0 || n.output(0).empty()) return bad(i, "the node has no result");
  for (int k = 1; k < n.output_size(); ++k) {
    if (!n.output(k).empty() && is_used(n.output(k)))
      return bad(i, fmt::format("its result {} ('{}') is not supported", k, n.output(k)));
  }
  Attrs attrs;
  if (!attributes_of(i, *row, attrs) || !constant_operands(i, *row, operands, attrs)) return false;
  if (n.op_type() == "Dropout" && ops::attr_int(*row, attrs, "training_mode") != 0) {
    return bad(i, "training mode is not supported", "export the model for inference");
  }
  if (!new_value(n.output(0))) return false;
  if (row->name == "softmax" || row->name == "log_softmax") return add_softmax(i, *row, operands, attrs);
  if (row->onnx_fold && operands.size() != 2) return add_folded(i, *row, operands);
  if (n.op_type() == "Mean") return add_folded(i, *row, operands);
  return emit(i, names_[size_t(i)], *row, operands, attrs, n.output(0)).valid();
}

bool Importer::is_used(const std::string& value) const {
  for (const onnx::NodeProto& n : proto_.node()) {
    for (const std::string& in : n.input()) {
      if (in == value) return true;
    }
  }
  for (const onnx::ValueInfoProto& v : proto_.output()) {
    if (v.name() == value) return true;
  }
  return false;
}

bool Importer::attributes_of(int i, const ops::OpDef& row, Attrs& attrs) {
  for (const onnx::AttributeProto& a : proto_.node(i).attribute()) {
    std::optional<AttrValue> v = onnx_attr(a);
    std::string name = snake_case(a.name());
    if (!v) return bad(i, fmt::format("attribute '{}' has a form that is not supported", a.name()));
    if (row.name == "cast" && name == "to") {
      const auto* code = std::get_if<int64_t>(&*v);
      std::optional<DataType> t = code != nullptr ? onnx_dtype(int(*code)) : std::nullopt;
      if (!t) return bad(i, "the type to cast to is not supported");
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
    if (def.name != attr || (t.elements() == 0 && def.kind != ops::AttrKind::integers)) continue;
    if (def.kind == ops::AttrKind::integers) {
      std::vector<int64_t> list;
      for (int64_t k = 0; k < t.elements(); ++k) list.push_back(t.get_int(k));
      ops::set_attr(attrs, attr, std::move(list));
    } else if (def.kind == ops::AttrKind::integer) {
      ops::set_attr(attrs, attr, t.get_int(0));
    } else {
      ops::set_attr(attrs, attr, t.get(0));
    }
  }
}

ValueId Importer::emit(int i, const std::string& name, const ops::OpDef& given_row,
                       std::vector<ValueId> operands, Attrs attrs, const std::string& result) {
  const ops::OpDef* row = &given_row;
  if (row->name == "gelu" || proto_.node(i).op_type() == "Gelu") row = gelu_row(attrs);
  while (!operands.empty() && !operands.back().valid()) operands.pop_back();
  graph::Node n;
  n.name = name;
  n.op = row->name;
  n.inputs = std::move(operands);
  n.attrs = std::move(attrs);
  // The artefact names the file, not where it lay: equal models give equal bytes.
  n.where = fmt::format("{}: node {} ({})", std::filesystem::path(file_).filename().string(), names_[size_t(i)],
                        proto_.node(i).op_type());
  NodeId id = g_.add_node(std::move(n));
  ValueId v = g_.add_result(id, result);
  return graph::infer_node(g_, id, diag_) ? v : ValueId{};
}

const ops::OpDef* Importer::gelu_row(Attrs& attrs) {
  const AttrValue* form = ops::find_attr(attrs, "approximate");
  const auto* text = form != nullptr ? std::get_if<std::string>(form) : nullptr;
  bool tanh = text != nullptr && *text == "tanh";
  if (tanh || (text != nullptr && *text == "none")) attrs.clear();
  return ops::find_op(tanh ? "gelu_tanh" : "gelu");
}

bool Importer::add_folded(int i, const ops::OpDef& row, const std::vector<ValueId>& operands) {
  const std::string& result = proto_.node(i).output(0);
  if (operands.empty()) return bad(i, "the node has no operands");
  bool mean = proto_.node(i).op_type() == "Mean";
  ValueId acc = operands[0];
  for (size_t k = 1; k < operands.size(); ++k) {
    bool last = k + 1 == operands.size() && !mean;
    std::string name = last ? names_[size_t(i)] : g_.fresh_name(fmt::format("{}_{}", names_[size_t(i)], k));
    acc = emit(i, name, row, {acc, operands[k]}, {}, last ? result : g_.fresh_name(name + "_out"));
    if (!acc.valid()) return false;
  }
  if (!mean && operands.size() > 1) return true;
  ops::Tensor count(ops::TensorType{g_.value(acc).type.dtype, {}});
  count.set(0, double(operands.size()));
  ValueId n = g_.add_constant(g_.fresh_name(names_[size_t(i)] + "_count"), std::move(count));
  const ops::OpDef* last = ops::find_op(mean ? "div" : "identity");
  return emit(i, names_[size_t(i)], *last, mean ? std::vector{acc, n} : std::vector{acc}, {}, result).valid();
}

bool Importer::add_softmax(int i, const ops::OpDef& row, const std::vector<ValueId>& operands, Attrs attrs) {
  const std::string &result = proto_.node(i).output(0), &name = names_[size_t(i)];
  if (operands.size() != 1 || !operands[0].valid()) return bad(i, "softmax needs 1 operand");
  ops::TensorType type = g_.value(operands[0]).type;
  int64_t axis = opset_ >= 13 ? -1 : 1;
  if (const AttrValue* v = ops::find_attr(attrs, "axis"))
    axis = std::holds_alternative<int64_t>(*v) ? std::get<int64_t>(*v) : axis;
  if (axis < 0) axis += type.rank();
  if (axis < 0 || axis >= type.rank())
    return bad(i, fmt::format("axis {} does not exist in {}", axis, ops::type_text(type)));
  int wide = 0;
  int64_t along = axis;
  for (int d = int(axis); d < type.rank(); ++d) {
    if (type.shape[size_t(d)] != 1) {
      ++wide;
      along = d;
    }
  }
  if (opset_ >= 13 || wide <= 1) {
    ops::set_attr(attrs, "axis", opset_ >= 13 ? axis : along);
    return emit(i, name, row, operands, attrs, result).valid();
  }
  Attrs flat, rows, back;
  ops::set_attr(flat, "axis", axis);
  ops::set_attr(rows, "axis", int64_t(1));
  ops::set_attr(back, "shape", type.shape);
  ValueId a = emit(i, g_.fresh_name(name + "_flat"), *ops::find_op("flatten"), operands, flat,
                   g_.fresh_name(name + "_flat_out"));
  if (!a.valid()) return false;
  ValueId b = emit(i, name, row, {a}, rows, g_.fresh_name(name + "_rows"));
  return b.valid() &&
         emit(i, g_.fresh_name(name + "_shape"), *ops::find_op("reshape"), {b}, back, result).valid();
}

}  // namespace cs::frontend

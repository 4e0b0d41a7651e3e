// ONNX import: operators whose form there is not ours, most of them because a version changed it.
#include <map>

#include <fmt/format.h>

#include "compiler/frontend/onnx_importer.h"
#include "runtime/support/workarounds.h"

namespace cs::frontend {

using graph::ValueId;

namespace {

// Takes an attribute out of the list.
std::optional<AttrValue> take(Attrs& attrs, std::string_view name) {
  for (auto it = attrs.begin(); it != attrs.end(); ++it) {
    if (it->first != name) continue;
    AttrValue v = std::move(it->second);
    attrs.erase(it);
    return v;
  }
  return std::nullopt;
}

int64_t take_integer(Attrs& attrs, std::string_view name, int64_t otherwise) {
  std::optional<AttrValue> v = take(attrs, name);
  const auto* i = v ? std::get_if<int64_t>(&*v) : nullptr;
  return i != nullptr ? *i : otherwise;
}

std::string take_text(Attrs& attrs, std::string_view name) {
  std::optional<AttrValue> v = take(attrs, name);
  const auto* t = v ? std::get_if<std::string>(&*v) : nullptr;
  return t != nullptr ? *t : "";
}

}  // namespace

const ops::OpDef* row_of(const std::string& op_type, int64_t opset) {
  if (op_type == "Mean") return ops::find_onnx_op("Sum");
  if (op_type == "Resize" && opset < 11) return ops::find_onnx_op("Upsample");
  return ops::find_onnx_op(op_type);
}

int64_t opset_of(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (default_domain(set.domain())) return set.version();
  }
  return 0;
}

bool Importer::adapt(int i, const ops::OpDef*& row, std::vector<ValueId>& operands, Attrs& attrs) {
  const std::string& op = node(i).op_type();
  if (op == "Gelu") {
    row = ops::find_op(take_text(attrs, "approximate") == "tanh" ? "gelu_tanh" : "gelu");
  } else if (op == "Mod") {
    if (take_integer(attrs, "fmod", 0) != 0) row = ops::find_op("fmod");
  } else if (op == "BitShift") {
    if (take_text(attrs, "direction") == "RIGHT") row = ops::find_op("shift_right");
  } else if (op == "CastLike") {
    if (operands.size() != 2 || !operands[1].valid()) return bad(i, "CastLike needs 2 operands");
    ops::set_attr(attrs, "to", std::string(data_type_name(g_.value(operands[1]).type.dtype)));
    operands.pop_back();
  } else if (op == "ConstantOfShape") {
    return fill_value(i, attrs);
  } else if (op == "Split" && ops::find_attr(attrs, "split") == nullptr) {
    if (ops::find_attr(attrs, "num_outputs") == nullptr)
      ops::set_attr(attrs, "num_outputs", int64_t(node(i).output_size()));
  } else if (op == "BatchNormalization") {
    if (take_integer(attrs, "spatial", 1) == 0) return bad(i, "spatial = 0 is not supported");
    if (take(attrs, "is_test")) note_workaround(Workaround::onnx_norm_is_test);
  } else if (op == "Pad" && ops::find_attr(attrs, "paddings") != nullptr) {
    ops::set_attr(attrs, "pads", *take(attrs, "paddings"));
    note_workaround(Workaround::onnx_pad_paddings);
  } else if (opset_ < 7) {
    return align_operand(i, operands, attrs);
  }
  return true;
}

// The value is a tensor of one element, whose type is that of the result.
bool Importer::fill_value(int i, Attrs& attrs) {
  for (const onnx::AttributeProto& a : node(i).attribute()) {
    if (!a.has_t()) continue;
    std::string error = "its value must have one element";
    std::optional<ops::Tensor> t = onnx_tensor(a.t(), error);
    if (!t || t->elements() != 1) return bad(i, error);
    ops::set_attr(attrs, "value", t->get(0));
    ops::set_attr(attrs, "dtype", std::string(data_type_name(t->type.dtype)));
  }
  return true;
}

// Before opset 7 the second operand of an elementwise operator lay at `axis` of the first; later it lies at
// the end. Slopes of PRelu lay along the channels.
bool Importer::align_operand(int i, std::vector<ValueId>& operands, Attrs& attrs) {
  const ops::OpDef* row = ops::find_onnx_op(node(i).op_type());
  if (row == nullptr || row->kind != ops::OpKind::elementwise || operands.size() != 2) return true;
  take(attrs, "broadcast");
  int64_t axis = take_integer(attrs, "axis", row->name == "prelu" ? 1 : -1);
  const ops::TensorType &a = g_.value(operands[0]).type, &b = g_.value(operands[1]).type;
  if (axis < 0 || b.elements() == 1 || b.rank() + axis >= a.rank()) return true;
  ops::Shape shape = b.shape;
  shape.resize(size_t(a.rank() - axis), 1);
  note_workaround(Workaround::onnx_operand_at_axis);
  operands[1] = reshaped(i, operands[1], shape);
  return operands[1].valid();
}

bool Importer::add_folded(int i, const ops::OpDef& row, const std::vector<ValueId>& operands) {
  const std::string& result = node(i).output(0);
  if (operands.empty()) return bad(i, "the node has no operands");
  const bool mean = node(i).op_type() == "Mean";
  // Pairs, then pairs of their results: the longest way through n operands is log2 n operators.
  std::vector<ValueId> level = operands;
  for (int k = 1; level.size() > 1;) {
    std::vector<ValueId> next;
    for (size_t a = 0; a < level.size(); a += 2) {
      if (a + 1 == level.size()) {
        next.push_back(level[a]);
        continue;
      }
      const bool last = level.size() == 2 && !mean;
      const std::string name = last ? names_[size_t(i)] : g_.fresh_name(fmt::format("{}_{}", names_[size_t(i)], k++));
      next.push_back(emit(i, name, row, {level[a], level[a + 1]}, {}, {last ? result : g_.fresh_name(name + "_out")}));
      if (!next.back().valid()) return false;
    }
    level = std::move(next);
  }
  const ValueId acc = level[0];
  if (!mean && operands.size() > 1) return true;
  ops::Tensor count(ops::TensorType{g_.value(acc).type.dtype, {}});
  count.set(0, double(operands.size()));
  ValueId n = g_.add_constant(g_.fresh_name(names_[size_t(i)] + "_count"), std::move(count));
  const ops::OpDef* last = ops::find_op(mean ? "div" : "identity");
  return emit(i, names_[size_t(i)], *last, mean ? std::vector{acc, n} : std::vector{acc}, {}, {result})
      .valid();
}

bool Importer::add_softmax(int i, const ops::OpDef& row, const std::vector<ValueId>& operands, Attrs attrs) {
  const std::string &result = node(i).output(0), &name = names_[size_t(i)];
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
    return emit(i, name, row, operands, attrs, {result}).valid();
  }
  note_workaround(Workaround::onnx_softmax_of_matrices);
  Attrs flat, rows, back;
  ops::set_attr(flat, "axis", axis);
  ops::set_attr(rows, "axis", int64_t(1));
  ops::set_attr(back, "shape", type.shape);
  ValueId a = emit(i, g_.fresh_name(name + "_flat"), *ops::find_op("flatten"), operands, flat,
                   {g_.fresh_name(name + "_flat_out")});
  if (!a.valid()) return false;
  ValueId b = emit(i, name, row, {a}, rows, {g_.fresh_name(name + "_rows")});
  return b.valid() &&
         emit(i, g_.fresh_name(name + "_shape"), *ops::find_op("reshape"), {b}, back, {result}).valid();
}

}  // namespace cs::frontend

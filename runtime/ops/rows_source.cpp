// Values that come from no operand's elements: constants, identity matrices, shapes, ranges.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

std::optional<DataType> dtype_of(const ShapeContext& c, std::string& error) {
  std::string name = attr_text(c.op, c.attrs, "dtype");
  if (name.empty()) return c.inputs[0]->dtype;
  std::optional<DataType> t = data_type_from_name(name);
  if (!t) error = fmt::format("'{}' is not an element type", name);
  return t;
}

bool shape_constant_of_shape(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<DataType> dtype = dtype_of(c, error);
  if (!dtype) return false;
  Shape shape = attr_ints(c.op, c.attrs, "shape");
  if (!checked_elements(shape)) return fail(error, fmt::format("shape {} is not valid", dims_text(shape)));
  outputs = {{*dtype, std::move(shape)}};
  return true;
}

bool loops_constant_of_shape(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                             std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  b.fill(b.result(), attr_real(c.op, c.attrs, "value"));
  return true;
}

bool shape_eye_like(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<DataType> dtype = dtype_of(c, error);
  if (!dtype) return false;
  if (c.inputs[0]->rank() != 2)
    return fail(error, fmt::format("{} is not a matrix", type_text(*c.inputs[0])));
  outputs = {{*dtype, c.inputs[0]->shape}};
  return true;
}

bool loops_eye_like(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                    std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  b.fill(y, 0);
  int64_t k = attr_int(c.op, c.attrs, "k"), rows = y.shape[0], columns = y.shape[1];
  int64_t row = std::max<int64_t>(0, -k), column = std::max<int64_t>(0, k);
  int64_t count = std::min(rows - row, columns - column);
  if (count <= 0) return true;
  LoopView diagonal{y.buffer, row * columns + column, {count}, {columns + 1}};
  b.fill(diagonal, 1);
  return true;
}

// shape: the extents from `start` to `end`; size: their product.
Shape asked_extents(const ShapeContext& c) {
  const Shape& s = c.inputs[0]->shape;
  if (c.op.name == "size") return {c.inputs[0]->elements()};
  int64_t rank = int64_t(s.size());
  auto place = [&](std::string_view attr) {
    int64_t v = attr_int(c.op, c.attrs, attr);
    return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  int64_t start = place("start"), end = std::max(start, place("end"));
  return {s.begin() + start, s.begin() + end};
}

bool shape_shape(const ShapeContext& c, std::vector<TensorType>& outputs, std::string&) {
  Shape out;
  if (c.op.name == "shape") out = {int64_t(asked_extents(c).size())};
  outputs = {{DataType::i64, out}};
  return true;
}

bool loops_shape(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  Shape extents = asked_extents(c);
  LoopView y = b.result().with_shape({int64_t(extents.size())});
  for (size_t k = 0; k < extents.size(); ++k) b.fill(y.sliced(0, int64_t(k), 1), double(extents[k]));
  return true;
}

bool shape_range(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  for (size_t k = 0; k < 3; ++k) {
    if (c.inputs[k]->elements() != 1)
      return fail(error, fmt::format("operand '{}' must have one element", c.op.operands[k]));
  }
  if (!same_dtype(c, 0, error)) return false;
  double start = c.value(0)->get(0), limit = c.value(1)->get(0), delta = c.value(2)->get(0);
  double count = std::ceil((limit - start) / delta);
  if (delta == 0 || !std::isfinite(count) || count > 1e12)
    return fail(error, fmt::format("a range from {} to {} in steps of {}", start, limit, delta));
  outputs = {{c.inputs[0]->dtype, {std::max<int64_t>(0, int64_t(count))}}};
  return true;
}

bool loops_range(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  auto scalar = [&](int k) { return b.operand(k).with_shape({1}).broadcast_to(y.shape).access(); };
  b.statement(y.shape, y.access(), {scalar(0), scalar(2), counter(0, {1})}, "x0 + x1 * x2");
  return true;
}

}  // namespace

void add_sources(Rows& t) {
  constexpr OpKind kSource = OpKind::source;
  OpDef filled = by_loops(kSource, "constant_of_shape", {"ConstantOfShape"}, {}, 0,
                          {integers("shape", true), real("value", 0), text("dtype", "f32")},
                          shape_constant_of_shape, loops_constant_of_shape);
  filled.onnx_inputs = {{0, "shape"}};
  t.push_back(filled);
  OpDef eye = by_loops(kSource, "eye_like", {"EyeLike"}, {"x"}, 0, {integer("k", 0), text("dtype", "")},
                       shape_eye_like, loops_eye_like);
  eye.types_only = true;
  t.push_back(eye);
  OpDef shape = by_loops(kSource, "shape", {"Shape"}, {"x"}, 0,
                         {integer("start", 0), integer("end", std::numeric_limits<int64_t>::max())},
                         shape_shape, loops_shape);
  shape.types_only = true;
  t.push_back(shape);
  OpDef size = by_loops(kSource, "size", {"Size"}, {"x"}, 0, {}, shape_shape, loops_shape);
  size.types_only = true;
  t.push_back(size);
  OpDef range =
      by_loops(kSource, "range", {"Range"}, {"start", "limit", "delta"}, 0, {}, shape_range, loops_range);
  range.constant_operands = {0, 1, 2};
  t.push_back(range);
}

}  // namespace cs::ops

// Quantised values: numbers of a few bits with a scale and a zero point, for the whole tensor or per place
// along an axis.
#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

enum Operand { kX, kScale, kZero };

// The shape in which scale and zero point broadcast with the tensor; empty: one number each.
std::optional<Shape> scale_shape(const ShapeContext& c, std::string& error) {
  const TensorType &x = *c.inputs[kX], &scale = *c.inputs[kScale], *zero = c.input(kZero);
  if (zero != nullptr && zero->elements() != scale.elements()) {
    error = fmt::format("scale {} and zero point {} differ in extent", type_text(scale), type_text(*zero));
    return std::nullopt;
  }
  if (scale.elements() == 1) return Shape{};
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return std::nullopt;
  if (scale.rank() != 1 || scale.shape[0] != x.shape[size_t(*axis)]) {
    error = fmt::format("scale {} does not go along axis {} of {}", type_text(scale), *axis, type_text(x));
    return std::nullopt;
  }
  Shape shape(x.shape.size(), 1);
  shape[size_t(*axis)] = scale.shape[0];
  return shape;
}

bool is_quantised(DataType t) {
  return t == DataType::i8 || t == DataType::u8 || t == DataType::i16 || t == DataType::u16;
}

bool shape_quantize(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!scale_shape(c, error)) return false;
  const TensorType& x = *c.inputs[kX];
  const DataType to = c.input(kZero) != nullptr ? c.inputs[kZero]->dtype : DataType::u8;
  if (!data_type_is_float(x.dtype) || c.inputs[kScale]->dtype != x.dtype || !is_quantised(to))
    return fail(error, fmt::format("{} with scale {} becomes {}; it goes from floating point to 8 or 16 bits",
                                   type_text(x), type_text(*c.inputs[kScale]), data_type_name(to)));
  outputs = {{to, x.shape}};
  return true;
}

bool shape_dequantize(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!scale_shape(c, error)) return false;
  const TensorType &x = *c.inputs[kX], *zero = c.input(kZero);
  const bool fits =
      (is_quantised(x.dtype) || x.dtype == DataType::i32) && (zero == nullptr || zero->dtype == x.dtype);
  if (!fits || !data_type_is_float(c.inputs[kScale]->dtype))
    return fail(error,
                fmt::format("{} with scale {} is not of 8, 16 or 32 bits with a zero point of its type",
                            type_text(x), type_text(*c.inputs[kScale])));
  outputs = {{c.inputs[kScale]->dtype, x.shape}};
  return true;
}

std::string placed(Steps& s, const std::string& operand, const Shape& shape) {
  return shape.empty() ? s.reshape(operand, {}) : s.reshape(operand, shape);
}

// The zero point in floating point; empty: none.
std::string zero_point(Steps& s, const ShapeContext& c, const Shape& shape) {
  if (c.input(kZero) == nullptr) return "";
  const std::string type(data_type_name(c.inputs[kScale]->dtype));
  return s.add("cast", {placed(s, "zero_point", shape)}, {{"to", type}});
}

DataType quantised_type(const ShapeContext& c) {
  return c.input(kZero) != nullptr ? c.inputs[kZero]->dtype : DataType::u8;
}

// Rounded to the nearest, ties to even, and held within what the type has; `zero` is the zero point or empty.
std::string on_grid(Steps& s, const ShapeContext& c, const Shape& shape, const std::string& zero) {
  std::string v = s.add("round", {s.add("div", {"x", placed(s, "scale", shape)})});
  if (!zero.empty()) v = s.add("add", {v, zero});
  const DataType to = quantised_type(c);
  return s.add("clip", {v}, {{"max", highest_of(to)}, {"min", lowest_of(to)}});
}

bool steps_quantize(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<Shape> shape = scale_shape(c, error);
  if (!shape) return false;
  Steps s(steps);
  const std::string v = on_grid(s, c, *shape, zero_point(s, c, *shape));
  s.result("y", "cast", {v}, {{"to", std::string(data_type_name(quantised_type(c)))}});
  return true;
}

bool shape_on_grid(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!shape_quantize(c, outputs, error)) return false;
  outputs = {*c.inputs[kX]};
  return true;
}

bool steps_on_grid(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<Shape> shape = scale_shape(c, error);
  if (!shape) return false;
  Steps s(steps);
  const std::string zero = zero_point(s, c, *shape);
  std::string v = on_grid(s, c, *shape, zero);
  if (!zero.empty()) v = s.add("sub", {v, zero});
  s.result("y", "mul", {v, placed(s, "scale", *shape)});
  return true;
}

bool steps_dequantize(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<Shape> shape = scale_shape(c, error);
  if (!shape) return false;
  Steps s(steps);
  std::string v = s.add("cast", {"x"}, {{"to", std::string(data_type_name(c.inputs[kScale]->dtype))}});
  const std::string zero = zero_point(s, c, *shape);
  if (!zero.empty()) v = s.add("sub", {v, zero});
  s.result("y", "mul", {v, placed(s, "scale", *shape)});
  return true;
}

}  // namespace

void add_quantisations(Rows& t) {
  Names operands = {"x", "scale", "zero_point"};
  OpDef q = by_steps("quantize_linear", {"QuantizeLinear"}, operands, 1,
                     {integer("axis", 1), integer("saturate", 1)}, shape_quantize, steps_quantize);
  t.push_back(noted(q, "to 8 and 16 bits, whole tensors or along an axis"));
  OpDef d = by_steps("dequantize_linear", {"DequantizeLinear"}, operands, 1, {integer("axis", 1)},
                     shape_dequantize, steps_dequantize);
  OpDef both =
      by_steps("quantize_dequantize", {}, operands, 1, {integer("axis", 1)}, shape_on_grid, steps_on_grid);
  t.push_back(
      noted(both, "dequantize_linear of quantize_linear: floating point on the grid of the quantised type"));
  t.push_back(noted(d, "from 8, 16 and 32 bits, whole tensors or along an axis"));
}

}  // namespace cs::ops

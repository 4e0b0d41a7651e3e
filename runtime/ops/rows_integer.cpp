// Products of quantised operands: of integers, exactly, and of quantised values by way of floating point.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

// The types that the steps of the row give.
bool shape_of_steps(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::vector<DecompositionStep> steps;
  if (!decompose(c.op, c.attrs, c.inputs, steps, error)) return false;
  std::map<std::string, TensorType> types;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    if (c.inputs[k] != nullptr) types[std::string(c.op.operands[k])] = *c.inputs[k];
  }
  for (const DecompositionStep& step : steps) {
    std::vector<const TensorType*> inputs;
    for (const std::string& name : step.operands) inputs.push_back(name.empty() ? nullptr : &types.at(name));
    std::vector<TensorType> results;
    if (!infer_types(*find_op(step.op), step.attrs, inputs, results, error)) return false;
    for (size_t k = 0; k < step.results.size(); ++k) types[step.results[k]] = results[k];
  }
  outputs.clear();
  for (std::string_view name : c.op.results) outputs.push_back(types.at(std::string(name)));
  return true;
}

// Operand k as i32, less its zero point (operand `zero`), whose elements lie along dimension `dim` if there
// are several.
std::string whole(Steps& s, const ShapeContext& c, size_t k, size_t zero, int dim) {
  const Attrs to = {{"to", std::string("i32")}};
  const std::string x = s.add("cast", {std::string(c.op.operands[k])}, to);
  if (c.input(zero) == nullptr) return x;
  Shape shape;
  const int rank = c.inputs[k]->rank();
  if (c.inputs[zero]->elements() > 1) {
    shape.assign(size_t(rank), 1);
    shape[size_t(dim < 0 ? std::max(0, dim + rank) : dim)] = c.inputs[zero]->elements();
  }
  const std::string z = s.add("cast", {std::string(c.op.operands[zero])}, to);
  return s.add("sub", {x, s.reshape(z, shape)});
}

bool steps_matmul_integer(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const std::string a = whole(s, c, 0, 2, -2), b = whole(s, c, 1, 3, -1);
  s.result("y", "matmul", {a, b});
  return true;
}

bool steps_conv_integer(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const std::string x = whole(s, c, 0, 2, 1), w = whole(s, c, 1, 3, 0);
  s.result("y", "conv", {x, w}, c.attrs);
  return true;
}

std::string real(Steps& s, const char* value, const char* scale, const char* zero, int64_t axis) {
  return s.add("dequantize_linear", {value, scale, zero}, {{"axis", axis}});
}

bool steps_qlinear_matmul(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const int64_t rows = std::max(0, c.inputs[0]->rank() - 2), columns = std::max(0, c.inputs[3]->rank() - 1);
  const std::string product =
      s.add("matmul", {real(s, "a", "a_scale", "a_zero", rows), real(s, "b", "b_scale", "b_zero", columns)});
  s.result("y", "quantize_linear", {product, "y_scale", "y_zero"});
  return true;
}

// The bias is on the grid of the products.
bool steps_qlinear_conv(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  std::vector<std::string> operands = {real(s, "x", "x_scale", "x_zero", 1),
                                       real(s, "w", "w_scale", "w_zero", 0)};
  if (c.input(8) != nullptr) {
    const std::string scale = s.add("mul", {"x_scale", "w_scale"});
    operands.push_back(s.add("dequantize_linear", {"b", scale}, {{"axis", int64_t(0)}}));
  }
  s.result("y", "quantize_linear", {s.add("conv", operands, c.attrs), "y_scale", "y_zero"});
  return true;
}

// The range of the operand, with 0 in it, over 255 steps.
bool steps_dynamic_quantize(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType type = c.inputs[0]->dtype;
  const Attrs all = {{"keepdims", int64_t(0)}};
  const std::string none = s.constant(0, type), low = s.add("min", {s.add("reduce_min", {"x"}, all), none}),
                    high = s.add("max", {s.add("reduce_max", {"x"}, all), none});
  s.result("y_scale", "div", {s.add("sub", {high, low}), s.constant(255, type)});
  const std::string zero = s.add("round", {s.add("clip", {s.add("div", {s.add("neg", {low}), "y_scale"})},
                                                 {{"max", 255.0}, {"min", 0.0}})});
  s.result("y_zero_point", "cast", {zero}, {{"to", std::string("u8")}});
  s.result("y", "quantize_linear", {"x", "y_scale", "y_zero_point"});
  return true;
}

}  // namespace

void add_integer_products(Rows& t) {
  t.push_back(by_steps("matmul_integer", {"MatMulInteger"}, {"a", "b", "a_zero", "b_zero"}, 2, {},
                       shape_of_steps, steps_matmul_integer));
  const AttrDefs window =
      std::find_if(t.begin(), t.end(), [](const OpDef& d) { return d.name == "conv"; })->attrs;
  t.push_back(by_steps("conv_integer", {"ConvInteger"}, {"x", "w", "x_zero", "w_zero"}, 2, window,
                       shape_of_steps, steps_conv_integer));
  t.push_back(by_steps("qlinear_matmul", {"QLinearMatMul"},
                       {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"}, 0, {},
                       shape_of_steps, steps_qlinear_matmul));
  t.push_back(by_steps("qlinear_conv", {"QLinearConv"},
                       {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "b"}, 1,
                       window, shape_of_steps, steps_qlinear_conv));
  OpDef dynamic = by_steps("dynamic_quantize_linear", {"DynamicQuantizeLinear"}, {"x"}, 0, {}, shape_of_steps,
                           steps_dynamic_quantize);
  dynamic.results = {"y", "y_scale", "y_zero_point"};
  t.push_back(dynamic);
}

}  // namespace cs::ops

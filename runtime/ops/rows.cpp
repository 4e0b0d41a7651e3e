// Forms that many rows of the operator table share.
#include "runtime/ops/rows.h"

#include "runtime/ops/rules.h"

namespace cs::ops {

AttrDef real(std::string_view name, double value) { return {name, AttrKind::real, value}; }
AttrDef integer(std::string_view name, int64_t value) { return {name, kInt, value}; }
AttrDef integers(std::string_view name, bool required) {
  return {name, kInts, std::vector<int64_t>{}, required};
}

OpDef unary(std::string_view name, Names onnx, AttrDefs attrs, std::string_view expression,
            std::string_view derivative, double ulp) {
  OpDef d;
  d.name = name;
  d.onnx = std::move(onnx);
  d.operands = {"x"};
  d.attrs = std::move(attrs);
  d.shape = shape_elementwise;
  d.expression = expression;
  d.derivative = derivative;
  d.ulp = ulp;
  return d;
}

OpDef binary(std::string_view name, Names onnx, std::string_view expression, std::string_view derivative,
             double ulp) {
  OpDef d = unary(name, std::move(onnx), {}, expression, derivative, ulp);
  d.operands = {"a", "b"};
  return d;
}

OpDef predicate(std::string_view name, Names onnx, Names operands, std::string_view expression) {
  OpDef d = unary(name, std::move(onnx), {}, expression, "", 0);
  d.operands = std::move(operands);
  d.boolean_result = true;
  return d;
}

OpDef folded(OpDef d) {
  d.onnx_fold = true;
  return d;
}

OpDef noted(OpDef d, std::string_view note) {
  d.note = note;
  return d;
}

OpDef reduce(std::string_view name, Names onnx) {
  OpDef d;
  d.name = name;
  d.kind = OpKind::reduction;
  d.onnx = std::move(onnx);
  d.operands = {"x"};
  d.attrs = {integers("axes"), integer("keepdims", 1), integer("noop_with_empty_axes", 0)};
  d.onnx_inputs = {{1, "axes"}};
  d.shape = shape_reduce;
  d.reference = reference_reduce;
  d.loops = loops_reduce;
  return d;
}

OpDef compound(std::string_view name, Names onnx, AttrDefs attrs, ShapeRule shape,
               std::string_view decomposition) {
  OpDef d;
  d.name = name;
  d.kind = OpKind::compound;
  d.onnx = std::move(onnx);
  d.operands = {"x"};
  d.attrs = std::move(attrs);
  d.shape = shape;
  d.decomposition = decomposition;
  return d;
}

OpDef compound_reduce(std::string_view name, Names onnx, std::string_view decomposition) {
  OpDef d = compound(name, std::move(onnx),
                     {integers("axes"), integer("keepdims", 1), integer("noop_with_empty_axes", 0)},
                     shape_reduce, decomposition);
  d.onnx_inputs = {{1, "axes"}};
  return d;
}

OpDef view(std::string_view name, Names onnx, AttrDefs attrs, ShapeRule shape) {
  OpDef d;
  d.name = name;
  d.kind = OpKind::view;
  d.onnx = std::move(onnx);
  d.operands = {"x"};
  d.attrs = std::move(attrs);
  d.shape = shape;
  d.reference = reference_view;
  d.loops = loops_copy;
  d.ulp = 0;
  d.flops = 0;
  return d;
}

AttrDef text(std::string_view name, std::string value) { return {name, AttrKind::text, std::move(value)}; }

OpDef by_steps(std::string_view name, Names onnx, Names operands, int optional, AttrDefs attrs,
               ShapeRule shape, DecompositionRule steps) {
  OpDef d = compound(name, std::move(onnx), std::move(attrs), shape, "");
  d.operands = std::move(operands);
  d.optional_operands = optional;
  d.steps = steps;
  d.ulp = 8;
  return d;
}

OpDef by_loops(OpKind kind, std::string_view name, Names onnx, Names operands, int optional, AttrDefs attrs,
               ShapeRule shape, LoopRule loops) {
  OpDef d;
  d.name = name;
  d.kind = kind;
  d.onnx = std::move(onnx);
  d.operands = std::move(operands);
  d.optional_operands = optional;
  d.attrs = std::move(attrs);
  d.shape = shape;
  d.loops = loops;
  d.flops = kind == OpKind::loops ? 1 : 0;
  d.ulp = kind == OpKind::loops ? 8 : 0;
  return d;
}

}  // namespace cs::ops

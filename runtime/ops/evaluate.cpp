// Host execution of one operator.
//   elementwise: the row's expression, element by element with broadcasting. Float32 operands are computed in
//   double
//     and rounded once, so that a host step is never the less accurate side of a comparison
//   compound: its decomposition, step by step
//   others: the row's reference implementation, or its loops
#include <map>

#include <fmt/format.h>

#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// Position-independent walk: offsets of every operand advance like an odometer over the output shape.
void evaluate_expression(const Expr& expr, std::span<const Tensor* const> inputs, Tensor& out) {
  const Shape& shape = out.type.shape;
  std::vector<std::vector<int64_t>> strides;
  for (const Tensor* t : inputs) strides.push_back(broadcast_strides(t->type.shape, shape));
  std::vector<int64_t> offset(inputs.size(), 0), index(shape.size(), 0);
  std::vector<double> operands(inputs.size()), scratch;
  for (int64_t i = 0, n = out.elements(); i < n; ++i) {
    for (size_t k = 0; k < inputs.size(); ++k) operands[k] = inputs[k]->get(offset[k]);
    out.set(i, expr_value<double>(expr, operands, scratch));
    for (size_t d = shape.size(); d-- > 0;) {
      ++index[d];
      for (size_t k = 0; k < inputs.size(); ++k) offset[k] += strides[k][d];
      if (index[d] < shape[d]) break;
      for (size_t k = 0; k < inputs.size(); ++k) offset[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
  }
}

bool evaluate_steps(const OpDef& op, const Attrs& attrs, std::span<const Tensor* const> inputs,
                    std::span<const TensorType* const> types, size_t results, std::vector<Tensor>& outputs,
                    Diag& diag) {
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) values[std::string(op.operands[i])] = *inputs[i];
  }
  std::vector<DecompositionStep> steps;
  std::string error;
  if (!decompose(op, attrs, types, steps, error)) {
    diag.error_at(op.name, error);
    return false;
  }
  for (const DecompositionStep& step : steps) {
    std::vector<const Tensor*> operands;
    for (const std::string& name : step.operands)
      operands.push_back(name.empty() ? nullptr : &values.at(name));
    const OpDef* row = find_op(step.op);
    CS_CHECK(row != nullptr, fmt::format("decomposition of {} uses unknown '{}'", op.name, step.op));
    std::vector<Tensor> made;
    if (!evaluate(*row, step.attrs, operands, made, diag)) return false;
    for (size_t k = 0; k < step.results.size(); ++k) values[step.results[k]] = std::move(made[k]);
  }
  outputs.clear();
  // A gradient row makes nothing of operands that have no gradient.
  for (size_t k = 0; k < results; ++k) outputs.push_back(std::move(values[std::string(op.results[k])]));
  return true;
}

bool evaluate_loop_rule(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> types,
                        std::span<const Tensor* const> inputs, std::vector<Tensor>& made,
                        std::string& error) {
  LoopProgram program;
  std::vector<TensorType> outs;
  for (const Tensor& t : made) outs.push_back(t.type);
  std::vector<const Tensor*> present;
  for (size_t k = 0; k < types.size(); ++k) {
    if (types[k] != nullptr) present.push_back(inputs[k]);
  }
  return loops_of(op, attrs, types, outs, program, error, inputs) &&
         evaluate_loops(program, present, made, error);
}

}  // namespace

bool evaluate(const OpDef& op, const Attrs& attrs, std::span<const Tensor* const> inputs,
              std::vector<Tensor>& outputs, Diag& diag) {
  std::vector<const TensorType*> types;
  for (const Tensor* t : inputs) types.push_back(t == nullptr ? nullptr : &t->type);
  std::vector<TensorType> result;
  std::string error;
  if (!infer_types(op, attrs, types, result, error, inputs)) {
    diag.error_at(op.name, error);
    return false;
  }
  if (op.kind == OpKind::compound)
    return evaluate_steps(op, attrs, inputs, types, result.size(), outputs, diag);
  std::vector<Tensor> made;
  for (TensorType& t : result) made.emplace_back(std::move(t));
  bool ok = true;
  if (op.reference != nullptr) {
    ok = op.reference({op, attrs, types, inputs}, inputs, made, error);
  } else if (op.loops != nullptr) {
    ok = evaluate_loop_rule(op, attrs, types, inputs, made, error);
  } else {
    evaluate_expression(bind_attrs(op_expression(op), with_defaults(op, attrs)), inputs, made[0]);
  }
  if (!ok) {
    diag.error_at(op.name, error);
    return false;
  }
  outputs = std::move(made);
  return true;
}

bool evaluate(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& inputs,
              std::vector<Tensor>& outputs, Diag& diag) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return evaluate(op, attrs, pointers, outputs, diag);
}

bool evaluate_types(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
                    std::vector<Tensor>& outputs, Diag& diag) {
  CS_CHECK(op.types_only, "an operator that reads elements needs them");
  std::vector<TensorType> types;
  std::vector<const Tensor*> none(inputs.size(), nullptr);
  std::string error;
  outputs.clear();
  bool ok = infer_types(op, attrs, inputs, types, error);
  for (TensorType& t : types) outputs.emplace_back(std::move(t));
  ok = ok && evaluate_loop_rule(op, attrs, inputs, none, outputs, error);
  if (!ok) diag.error_at(op.name, error);
  return ok;
}

}  // namespace cs::ops

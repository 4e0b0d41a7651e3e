// Host execution of one operator, and decompositions.
//   elementwise: the row's expression, element by element with broadcasting. Float32 operands are computed in
//   double
//     and rounded once, so that a host step is never the less accurate side of a comparison
//   compound: its decomposition, step by step
//   others: the row's reference implementation, or its loops
#include <cctype>
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
                    std::vector<Tensor>& outputs, Diag& diag) {
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) values[std::string(op.operands[i])] = *inputs[i];
  }
  for (const DecompositionStep& step : decompose(op, attrs)) {
    std::vector<const Tensor*> operands;
    for (const std::string& name : step.operands) operands.push_back(&values.at(name));
    const OpDef* row = find_op(step.op);
    CS_CHECK(row != nullptr, fmt::format("decomposition of {} uses unknown '{}'", op.name, step.op));
    if (!evaluate(*row, step.attrs, operands, outputs, diag)) return false;
    values[step.result] = outputs[0];
  }
  return true;
}

// Splits "a, b, axes=axis" at commas.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

AttrValue argument_value(const Attrs& attrs, const std::string& text) {
  if (const AttrValue* v = find_attr(attrs, text)) return *v;
  if (text.find('.') != std::string::npos) return std::stod(text);
  CS_CHECK(!text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-'),
           "unknown attribute in a decomposition: " + text);
  return int64_t(std::stoll(text));
}

}  // namespace

std::vector<DecompositionStep> decompose(const OpDef& op, const Attrs& given) {
  Attrs attrs = with_defaults(op, given);
  std::vector<DecompositionStep> steps;
  std::string_view text = op.decomposition;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t equal = line.find(" = "), open = line.find('('), close = line.rfind(')');
    CS_CHECK(equal != line.npos && open != line.npos && close != line.npos,
             "decomposition of " + std::string(op.name));
    DecompositionStep step;
    step.result = line.substr(0, equal);
    step.op = line.substr(equal + 3, open - equal - 3);
    for (const std::string& part : split_arguments(line.substr(open + 1, close - open - 1))) {
      size_t sign = part.find('=');
      if (sign == std::string::npos) {
        step.operands.push_back(part);
      } else {
        set_attr(step.attrs, part.substr(0, sign), argument_value(attrs, part.substr(sign + 1)));
      }
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

bool loops_of(const OpDef& op, const Attrs& attrs, std::span<const TensorType* const> inputs,
              std::span<const TensorType> outputs, LoopProgram& program, std::string& error) {
  program = {};
  if (op.loops != nullptr) {
    if (!op.loops({op, attrs, inputs}, outputs, program, error)) return false;
  } else if (op.kind == OpKind::compound) {
    return loops_of_steps(op, attrs, inputs, outputs, program, error);
  } else if (!op.expression.empty()) {
    LoopBuilder b(program, inputs, outputs);
    std::vector<LoopAccess> loads;
    for (size_t k = 0; k < inputs.size(); ++k) {
      loads.push_back(b.operand(int(k)).broadcast_to(outputs[0].shape).access());
    }
    b.statement(outputs[0].shape, b.result().access(), std::move(loads),
                bind_attrs(op_expression(op), with_defaults(op, attrs)));
  } else {
    error = std::string(op.name) + " has no loops";
    return false;
  }
  return true;
}

bool evaluate(const OpDef& op, const Attrs& attrs, std::span<const Tensor* const> inputs,
              std::vector<Tensor>& outputs, Diag& diag) {
  std::vector<const TensorType*> types;
  for (const Tensor* t : inputs) types.push_back(t == nullptr ? nullptr : &t->type);
  std::vector<TensorType> result;
  std::string error;
  if (!infer_types(op, attrs, types, result, error)) {
    diag.error_at(op.name, error);
    return false;
  }
  if (op.kind == OpKind::compound) return evaluate_steps(op, attrs, inputs, outputs, diag);
  std::vector<Tensor> made;
  for (TensorType& t : result) made.emplace_back(std::move(t));
  bool ok = true;
  if (op.reference != nullptr) {
    ok = op.reference({op, attrs, types}, inputs, made, error);
  } else if (op.loops != nullptr) {
    LoopProgram program;
    std::vector<TensorType> outs;
    for (const Tensor& t : made) outs.push_back(t.type);
    ok = loops_of(op, attrs, types, outs, program, error) && evaluate_loops(program, inputs, made, error);
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

}  // namespace cs::ops

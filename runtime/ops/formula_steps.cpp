// Writing the steps of a formula.
#include "runtime/ops/formula_steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace cs::ops {

FormulaValue FormulaSteps::fail(const Node& at, const std::string& what) {
  return refuse(fmt::format("line {}, column {}: {}", at.line, at.column, what));
}

FormulaValue FormulaSteps::refuse(const std::string& what) {
  if (ok()) error_ = what;
  return {};
}

bool FormulaSteps::is_operand(const std::string& name) const {
  return std::find(operands_.begin(), operands_.end(), name) != operands_.end();
}

FormulaValue FormulaSteps::step(const Node& at, std::string_view row, const std::vector<Value>& operands,
                                const Attrs& attrs) {
  if (!ok()) return {};
  DecompositionStep s;
  s.op = row;
  for (const auto& [name, v] : attrs) set_attr(s.attrs, name, v);
  std::vector<const TensorType*> types;
  for (const Value& v : operands) {
    s.operands.push_back(v.text);
    types.push_back(&v.type);
  }
  for (size_t k = 0; k < steps_.size(); ++k) {
    if (steps_[k].op == s.op && steps_[k].operands == s.operands && steps_[k].attrs == s.attrs)
      return {Value::Kind::tensor, 0, steps_[k].results[0], types_[k]};
  }
  std::vector<TensorType> made;
  std::string why;
  if (!infer_types(*find_op(row), s.attrs, types, made, why))
    return fail(at, fmt::format("{}: {}", at.word, why));
  std::string name;
  do {
    name = fmt::format("v{}", names_++);
  } while (is_operand(name));
  s.results = {name};
  steps_.push_back(std::move(s));
  types_.push_back(made[0]);
  return {Value::Kind::tensor, 0, name, made[0]};
}

FormulaValue FormulaSteps::constant(const Node& at, std::vector<double> values, const Shape& shape,
                                    DataType dtype) {
  return step(
      at, "constant", {},
      {{"value", std::move(values)}, {"shape", shape}, {"dtype", std::string(data_type_name(dtype))}});
}

FormulaValue FormulaSteps::converted(const Node& at, const Value& v, DataType dtype) {
  if (v.type.dtype == dtype) return v;
  return step(at, "cast", {v}, {{"to", std::string(data_type_name(dtype))}});
}

FormulaValue FormulaSteps::reshaped(const Node& at, const Value& v, const Shape& shape) {
  if (v.type.shape == shape) return v;
  return step(at, "reshape", {v}, {{"shape", shape}, {"allowzero", int64_t(1)}});
}

FormulaValue FormulaSteps::tensor(const Node& at, const Value& v, DataType dtype) {
  if (v.is_tensor()) return v;
  if (!v.is_number()) return fail(at, "a text cannot be computed with");
  if (!data_type_is_float(dtype) && (v.number != std::floor(v.number) || std::abs(v.number) > 0x1p53)) {
    return fail(at, fmt::format("{} is no {}; real() makes floating-point numbers of integers", v.number,
                                data_type_name(dtype)));
  }
  return constant(at, {v.number}, {}, dtype);
}

void FormulaSteps::finish(const std::string& last, std::vector<DecompositionStep>& steps) {
  std::set<std::string> needed{last};
  for (size_t k = steps_.size(); k-- > 0;) {
    if (needed.contains(steps_[k].results[0]))
      needed.insert(steps_[k].operands.begin(), steps_[k].operands.end());
  }
  for (DecompositionStep& s : steps_) {
    if (!needed.contains(s.results[0])) continue;
    if (s.results[0] == last) s.results[0] = "y";
    steps.push_back(std::move(s));
  }
}

}  // namespace cs::ops

// The steps of a formula that is being lowered: every step once, with its type, and errors with their place.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/formula.h"

namespace cs::ops {

struct FormulaValue {
  enum class Kind : uint8_t { number, text, tensor, absent };
  Kind kind = Kind::number;
  double number = 0;
  std::string text;  // of a tensor: the step or operand that gives it
  TensorType type;
  bool is_tensor() const { return kind == Kind::tensor; }
  bool is_number() const { return kind == Kind::number; }
};

class FormulaSteps {
 public:
  using Value = FormulaValue;
  using Node = FormulaNode;

  FormulaSteps(std::span<const std::string_view> operands, std::string& error)
      : operands_(operands), error_(error) {}

  bool ok() const { return error_.empty(); }
  Value fail(const Node& at, const std::string& what);
  // Without a place: the formula itself says what is wrong.
  Value refuse(const std::string& what);

  // One step, or an earlier one that computes the same.
  Value step(const Node& at, std::string_view row, const std::vector<Value>& operands,
             const Attrs& attrs = {});
  Value constant(const Node& at, std::vector<double> values, const Shape& shape, DataType dtype);
  Value converted(const Node& at, const Value& v, DataType dtype);
  Value reshaped(const Node& at, const Value& v, const Shape& shape);
  // A number as a scalar of this type, a tensor as it is.
  Value tensor(const Node& at, const Value& v, DataType dtype);

  bool is_operand(const std::string& name) const;
  // Appends what `last` needs, the step that gives it named y.
  void finish(const std::string& last, std::vector<DecompositionStep>& steps);

 private:
  std::span<const std::string_view> operands_;
  std::string& error_;
  std::vector<DecompositionStep> steps_;
  std::vector<TensorType> types_;  // of their results
  int names_ = 0;
};

}  // namespace cs::ops

// Formulas over tensors: what a loss computes, as text.
//
//   hit = chosen(target, input)                     lines NAME = EXPRESSION; the last one is the result, y
//   p = log_softmax(input, axis=class)              (or an expression without a name)
//   l = select(weighted == 1, w * hit, hit)         + - * / ^, comparisons, calls, numbers, "texts"
//   y = select(reduction == "mean", mean(l), l)     names: operands, attributes, earlier lines, pi, inf
//
// Functions are the rows of the operator table that give one tensor, and those of formula_functions.cpp.
// parse_formula() checks all that the text alone says; lower_formula() writes the steps for operands of these
// types. What is known then (attributes, numbers, extents, which operands are there) is computed while
// lowering, and a select with such a condition lowers the form that it chooses and nothing of the other.
// Equal subexpressions become one step. docs/losses.md describes the language.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

struct FormulaNode {
  enum class Kind : uint8_t { number, text, operand, attr, call };
  Kind kind = Kind::number;
  double value = 0;                                // number
  std::string word;                                // text, name of an attribute, function or row
  int index = 0;                                   // operand
  std::vector<int> args;                           // call: earlier nodes
  std::vector<std::pair<std::string, int>> named;  // call: attributes, earlier nodes
  std::string axis;  // call: class, last, batch, all or an integer; empty: not said
  int line = 1, column = 1;
};

struct Formula {
  std::vector<FormulaNode> nodes;  // operands before their users; a name is the node of its expression
  int root = -1;
};

// The function that an operator stands for: + is the row add, ^ the function power.
std::optional<Formula> parse_formula(std::string_view text, std::span<const std::string_view> operands,
                                     std::span<const std::string_view> attrs, std::string& error);

struct FormulaCall {
  std::span<const std::string_view> operands;  // their names, in the order of the parsed formula
  std::span<const TensorType* const> types;    // null (or beyond the end): absent
  const Attrs& attrs;                          // all that the formula may name
};

// Appends steps that define `y`, whose type is `result`. Operands of 16 bits are computed in f32, narrow
// integers in i32, and the result is rounded to 16 bits at the end. `error` starts with line and column,
// unless the formula says itself what is wrong, by fail().
bool lower_formula(const Formula&, const FormulaCall&, std::vector<DecompositionStep>& steps,
                   TensorType& result, std::string& error);

// For rows whose `decomposition` is a formula over their operands and attributes.
bool shape_formula(const ShapeContext&, std::vector<TensorType>& outputs, std::string& error);
bool steps_formula(const ShapeContext&, std::vector<DecompositionStep>& steps, std::string& error);

}  // namespace cs::ops

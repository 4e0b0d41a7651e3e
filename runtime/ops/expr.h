// Scalar expressions: what an elementwise operator computes for one element.
//
// The operator table writes them as text, "select(x >= 0, x, alpha * x)". parse_expr() turns the text into an
// Expr: nodes in an array in which operands come before their users. Nodes are hash-consed (an equal
// subexpression exists once) and constants are folded, so that whoever walks the array from front to back
// meets every common subexpression exactly once. Import, host execution and the kernel generator read the
// same Expr.
//
//   expression := comparison; operators by falling precedence: unary - · * / · + - · < <= > >= == !=
//   functions: abs min max exp log sqrt tanh erf sin cos pow floor ceil round select(condition, then, else)
//   not names: operands and attributes of the row; constants: decimal numbers, pi, inf
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/host_part.h"

namespace cs::ops {

enum class ExprKind : uint8_t {
  constant,  // value
  input,     // operand number `index`
  attr,      // attribute `name`; gone after bind_attrs()
  add,
  sub,
  mul,
  div,
  neg,
  abs,
  min,
  max,
  exp,
  log,
  sqrt,
  tanh,
  erf,
  sin,
  cos,
  pow,
  floor,
  ceil,
  round,  // to the nearest integer, ties to even
  lt,
  le,
  gt,
  ge,
  eq,
  ne,           // 1 or 0
  logical_not,  // 1 if the operand is 0, else 0
  select,       // a != 0 ? b : c
};

// Name in the text form: "add" is written +, functions by this name.
std::string_view expr_kind_name(ExprKind);
// Number of operands: 0 for leaves, 1, 2, or 3 for select.
int expr_arity(ExprKind);

struct ExprNode {
  ExprKind kind = ExprKind::constant;
  int a = -1, b = -1, c = -1;  // operands: indices of earlier nodes
  double value = 0;            // constant
  int index = 0;               // input
  std::string name;            // attr
  bool operator==(const ExprNode&) const = default;
};

struct Expr {
  std::vector<ExprNode> nodes;  // topological order
  int root = -1;
  bool operator==(const Expr&) const = default;

  // Builders; they fold constants and reuse equal nodes. Return the index of the node.
  int constant(double value);
  int input(int index);
  int attr(std::string name);
  int make(ExprKind kind, int a, int b = -1, int c = -1);

  int inputs() const;  // 1 + largest operand number, 0 if none
  bool uses_input(int index) const;
};

// Parses; on failure `error` says what is wrong and at which column.
std::optional<Expr> parse_expr(std::string_view text, std::span<const std::string_view> operands,
                               std::span<const std::string_view> attrs, std::string& error);
// Text that parses back to the same Expr; operand i is written as names[i] (or "in<i>" beyond the list).
std::string expr_text(const Expr&, std::span<const std::string> names = {});

// Replaces attributes by constants (integers and reals) and folds. Attributes not in the list stay.
Expr bind_attrs(const Expr&, const Attrs&);
// Adds `outer` to `to`, with the nodes `operands` of it for outer's operands; the index of its root there.
int append(Expr& to, const Expr& outer, std::span<const int> operands);
// Without the nodes that the root does not need (folding leaves some behind).
Expr prune(const Expr&);
// Replaces operand i of `outer` by inner[i], whose own operands keep their numbers.
Expr substitute(const Expr& outer, std::span<const Expr> inner);

// Value for one element. T is float or double: every operation is rounded to T. Attributes must be bound.
template <typename T>
T expr_value(const Expr&, std::span<const T> inputs, std::vector<T>& scratch);
extern template float expr_value<float>(const Expr&, std::span<const float>, std::vector<float>&);
extern template double expr_value<double>(const Expr&, std::span<const double>, std::vector<double>&);

}  // namespace cs::ops

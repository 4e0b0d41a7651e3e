// Masks and choices: see conditions.h.
#include "compiler/autogen/conditions.h"

#include <cmath>

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

constexpr double kLeast = 0x1p-149;  // of positive numbers

struct Condition {
  int mask = -1;
  bool inverted = false;  // it holds where the mask is zeros
};

// A difference is rounded after the product, as the comparison of both would see it.
int compared(VectorProgram& p, int v) { return p.node(v).kind == VectorKind::mul ? p.copy(v) : v; }
bool is_scalar(const VectorProgram& p, int v, double value) {
  return p.node(v).kind == VectorKind::scalar && p.node(v).value == value;
}

// a < b. That of equal numbers must be +0: 0 is added where it might be -0.
int below(VectorProgram& p, int a, int b) {
  a = compared(p, a);
  b = compared(p, b);
  const bool plus_zero =
      p.node(a).kind == VectorKind::scalar || (p.node(b).kind == VectorKind::scalar && p.node(b).value != 0);
  const int difference = is_scalar(p, b, 0) ? a : p.sub(a, b);
  return p.make(VectorKind::negative, plus_zero ? difference : p.add(difference, 0.0));
}

// d <= 0; of NaN it does not hold.
int not_positive(VectorProgram& p, int d) { return p.make(VectorKind::negative, p.sub(d, p.scalar(kLeast))); }
int at_most(VectorProgram& p, int a, int b) { return not_positive(p, p.sub(compared(p, a), compared(p, b))); }
int equal(VectorProgram& p, int a, int b) {
  return not_positive(p, p.magnitude(p.sub(compared(p, a), compared(p, b))));
}

// The difference of two infinities is NaN, which is right for < and > only.
bool finite_constant(const Expr& e, int node) {
  const ExprNode& n = e.nodes[size_t(node)];
  return n.kind == ExprKind::constant && std::isfinite(n.value);
}

Condition condition_of(VectorProgram&, const Expr&, int node, std::span<const int> at);

// Of a comparison or a negation, from its operands.
Condition compare(VectorProgram& p, const Expr& e, const ExprNode& n, std::span<const int> at) {
  if (n.kind == ExprKind::logical_not) {
    const Condition c = condition_of(p, e, n.a, at);
    return {c.mask, !c.inverted};
  }
  const int a = at[size_t(n.a)], b = at[size_t(n.b)];
  switch (n.kind) {
    case ExprKind::lt:
      return {below(p, a, b)};
    case ExprKind::gt:
      return {below(p, b, a)};
    case ExprKind::le:
      return {at_most(p, a, b)};
    case ExprKind::ge:
      return {at_most(p, b, a)};
    default:
      return {equal(p, a, b), n.kind == ExprKind::ne};
  }
}

// Of any node that the program has: it holds unless the value is 0.
Condition condition_of(VectorProgram& p, const Expr& e, int node, std::span<const int> at) {
  const int value = at[size_t(node)];
  const ExprNode& n = e.nodes[size_t(node)];
  if (!p.is_number(value) && is_condition(n.kind)) return compare(p, e, n, at);
  return {equal(p, p.is_number(value) ? p.copy(value) : value, p.scalar(0)), true};
}

int one_or_zero(VectorProgram& p, Condition c) {
  const int one = p.make(VectorKind::both, c.mask, p.scalar(1));
  return c.inverted ? p.sub(1.0, one) : one;
}

int choice(VectorProgram& p, Condition c, int yes, int no) {
  if (c.inverted) std::swap(yes, no);
  const auto number = [&](int v) { return p.node(v).kind == VectorKind::scalar; };
  if (is_scalar(p, no, 0) && !number(yes)) return p.make(VectorKind::both, yes, c.mask);
  if (number(yes) && number(no)) {
    const auto a = float(p.node(yes).value), b = float(p.node(no).value);
    const float step = a - b;
    if (std::isfinite(step) && b + step == a) {
      const int part = p.make(VectorKind::both, c.mask, p.scalar(double(step)));
      return b == 0 ? part : p.add(part, no);
    }
  }
  no = p.in_buffer(no);
  if (is_scalar(p, yes, 0))
    return p.make(VectorKind::differ, p.make(VectorKind::both, p.copy(no), c.mask), no);
  return p.make(VectorKind::differ, p.make(VectorKind::both, p.make(VectorKind::differ, yes, no), c.mask),
                no);
}

}  // namespace

bool is_condition(ExprKind k) {
  return (k >= ExprKind::lt && k <= ExprKind::ne) || k == ExprKind::logical_not;
}

std::vector<bool> into_steps(const Expr& e) {
  std::vector<bool> into(e.nodes.size(), false);
  for (size_t i = e.nodes.size(); i-- > 0;) {
    const ExprNode& n = e.nodes[i];
    const bool steps = n.kind == ExprKind::floor || n.kind == ExprKind::ceil || n.kind == ExprKind::round ||
                       is_condition(n.kind);
    for (int o : {n.a, n.b, n.c}) {
      if (o >= 0 && (into[i] || steps)) into[size_t(o)] = true;
    }
  }
  return into;
}

bool has_vector_comparison(const Expr& e, int node) {
  const ExprNode& n = e.nodes[size_t(node)];
  if (n.kind == ExprKind::lt || n.kind == ExprKind::gt || n.kind == ExprKind::logical_not) return true;
  return finite_constant(e, n.a) || finite_constant(e, n.b);
}

int build_comparison(VectorProgram& p, const Expr& e, int node, std::span<const int> at) {
  return one_or_zero(p, compare(p, e, e.nodes[size_t(node)], at));
}

int build_choice(VectorProgram& p, const Expr& e, int node, std::span<const int> at) {
  const ExprNode& n = e.nodes[size_t(node)];
  return choice(p, condition_of(p, e, n.a, at), at[size_t(n.b)], at[size_t(n.c)]);
}

}  // namespace cs::autogen

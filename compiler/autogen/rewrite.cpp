// Rewriting of expressions so that vector instructions can compute more of them.
//
// Nodes are visited in order and rebuilt; a rule looks at the rebuilt operands. Rules keep the value of every
// element exact (a division by a power of two is a multiplication; select(x >= 0, x, a * x) is max(x, a * x)
// for a <= 1).
#include <cmath>

#include "compiler/autogen/expression.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

bool is_constant(const Expr& e, int node, double value) {
  return e.nodes[size_t(node)].kind == ExprKind::constant && e.nodes[size_t(node)].value == value;
}

bool is_power_of_two(double v) {
  int exponent = 0;
  return v != 0 && std::isfinite(v) && std::fabs(std::frexp(v, &exponent)) == 0.5 && std::abs(exponent) < 100;
}

// The constant factor if `node` is constant * x, in either order.
bool is_multiple_of(const Expr& e, int node, int x, double& factor) {
  const ExprNode& n = e.nodes[size_t(node)];
  if (n.kind == ExprKind::constant && n.value == 0) {
    factor = 0;
    return true;
  }
  if (n.kind != ExprKind::mul) return false;
  for (auto [a, b] : {std::pair{n.a, n.b}, std::pair{n.b, n.a}}) {
    if (a == x && e.nodes[size_t(b)].kind == ExprKind::constant) {
      factor = e.nodes[size_t(b)].value;
      return true;
    }
  }
  return false;
}

// select(x >= 0, x, c * x) for c <= 1 is max(x, c * x); for c > 1 it is min. Also with > and swapped
// branches.
int rewrite_select(Expr& e, int condition, int yes, int no) {
  const ExprNode c = e.nodes[size_t(condition)];
  bool greater = c.kind == ExprKind::ge || c.kind == ExprKind::gt;
  bool less = c.kind == ExprKind::le || c.kind == ExprKind::lt;
  if (less) std::swap(yes, no);
  double factor = 0;
  bool fits = (greater || less) && is_constant(e, c.b, 0) && yes == c.a && is_multiple_of(e, no, c.a, factor);
  if (!fits) return -1;
  return e.make(factor <= 1 ? ExprKind::max : ExprKind::min, yes, no);
}

int rewrite_node(Expr& e, const ExprNode& n, int a, int b, int c) {
  if (n.kind == ExprKind::select) {
    int rewritten = rewrite_select(e, a, b, c);
    if (rewritten >= 0) return rewritten;
  }
  if (n.kind == ExprKind::div && e.nodes[size_t(b)].kind == ExprKind::constant) {
    double divisor = e.nodes[size_t(b)].value;
    if (is_power_of_two(divisor)) return e.make(ExprKind::mul, a, e.constant(1 / divisor));
  }
  return e.make(n.kind, a, b, c);
}

}  // namespace

ops::Expr rewrite_for_vectors(const ops::Expr& in) {
  Expr out;
  std::vector<int> moved(in.nodes.size(), -1);
  auto at = [&](int node) { return node < 0 ? -1 : moved[size_t(node)]; };
  for (size_t i = 0; i < in.nodes.size(); ++i) {
    const ExprNode& n = in.nodes[i];
    switch (n.kind) {
      case ExprKind::constant:
        moved[i] = out.constant(n.value);
        break;
      case ExprKind::input:
        moved[i] = out.input(n.index);
        break;
      case ExprKind::attr:
        moved[i] = out.attr(n.name);
        break;
      default:
        moved[i] = rewrite_node(out, n, at(n.a), at(n.b), at(n.c));
    }
  }
  out.root = at(in.root);
  return out;
}

}  // namespace cs::autogen

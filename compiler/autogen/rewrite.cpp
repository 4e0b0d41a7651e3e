// Rewriting of expressions so that vector instructions can compute more of them.
//
// Nodes are visited in order and rebuilt; a rule looks at the rebuilt operands. Rules keep the value of every
// element exact, up to the sign of a zero (select(x >= 0, x, a * x) is max(x, a * x) for a <= 1), but that a
// division by a number becomes a multiplication, which may be off by one unit in the last place, where
// nothing depends on it in steps.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/autogen/conditions.h"
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

std::optional<double> whole_constant(const Expr& e, int node) {
  constexpr double kMost = 1 << 22;  // sums of two of them are exact
  const ExprNode& n = e.nodes[size_t(node)];
  const bool whole =
      n.kind == ExprKind::constant && n.value == std::trunc(n.value) && std::fabs(n.value) <= kMost;
  return whole ? std::optional(n.value) : std::nullopt;
}

// The bounds of a rounded number (+ a whole number, the zero point of a quantised value) are put in front of
// the rounding, which then has a range: max(round(x) + z, c) is round(max(x, c - z)) + z.
int bound_before_round(Expr& e, ExprKind bound, int a, int b) {
  for (auto [value, limit] : {std::pair{a, b}, std::pair{b, a}}) {
    const auto c = whole_constant(e, limit);
    if (!c) continue;
    const ExprNode v = e.nodes[size_t(value)];
    if (v.kind == ExprKind::round) return e.make(ExprKind::round, e.make(bound, v.a, limit));
    if (v.kind != ExprKind::add) continue;
    const ExprNode rounded = e.nodes[size_t(v.a)];
    const auto zero = whole_constant(e, v.b);
    if (rounded.kind != ExprKind::round || !zero) continue;
    const int bounded = e.make(bound, rounded.a, e.constant(*c - *zero));
    return e.make(ExprKind::add, e.make(ExprKind::round, bounded), v.b);
  }
  return -1;
}

// Powers whose exponent is half of a small whole number, as products and roots; -1 if it is none. A square is
// correctly rounded, as a power is at best; products of up to four numbers, and of these and a root, are
// within four units in the last place, and so are reciprocals of the shortest of them.
int rewrite_power(Expr& e, int x, double exponent) {
  const double size = std::fabs(exponent);
  const double most = exponent > 0 ? 4 : 2;
  const bool root = size != std::trunc(size);
  if (exponent == 0 || size > most || 2 * size != std::trunc(2 * size)) return -1;
  if (exponent < 0 && root && size > 1) return -1;
  int y = root ? e.make(ExprKind::sqrt, x) : -1;
  const auto times = [&](int factor) { return y < 0 ? factor : e.make(ExprKind::mul, y, factor); };
  const int whole = int(size);
  if (whole >= 2) {
    const int square = e.make(ExprKind::mul, x, x);
    for (int k = 0; k < whole / 2; ++k) y = times(square);
  }
  if (whole % 2 != 0) y = times(x);
  return exponent > 0 ? y : e.make(ExprKind::div, e.constant(1), y);
}

class Rewriter {
 public:
  Rewriter(const Expr& in, const std::vector<bool>& numbers)
      : in_(in), numbers_(numbers), into_steps_(into_steps(in)) {}

  Expr run(std::vector<int>& moved) {
    moved.assign(in_.nodes.size(), -1);
    const auto at = [&](int node) { return node < 0 ? -1 : moved[size_t(node)]; };
    for (size_t i = 0; i < in_.nodes.size(); ++i) {
      const ExprNode& n = in_.nodes[i];
      switch (n.kind) {
        case ExprKind::constant:
          moved[i] = out_.constant(n.value);
          break;
        case ExprKind::input:
          moved[i] = out_.input(n.index);
          break;
        case ExprKind::attr:
          moved[i] = out_.attr(n.name);
          break;
        default:
          moved[i] = node(i, at(n.a), at(n.b), at(n.c));
      }
    }
    out_.root = at(in_.root);
    return std::move(out_);
  }

 private:
  // The same for all elements.
  bool is_number(int node) const {
    const ExprNode& n = out_.nodes[size_t(node)];
    if (n.kind == ExprKind::input) return size_t(n.index) < numbers_.size() && numbers_[size_t(n.index)];
    for (int o : {n.a, n.b, n.c}) {
      if (o >= 0 && !is_number(o)) return false;
    }
    return n.kind != ExprKind::attr;
  }

  int node(size_t i, int a, int b, int c) {
    const ExprNode& n = in_.nodes[i];
    if (n.kind == ExprKind::select) {
      const int rewritten = rewrite_select(out_, a, b, c);
      if (rewritten >= 0) return rewritten;
    }
    if (n.kind == ExprKind::min || n.kind == ExprKind::max) {
      const int rewritten = bound_before_round(out_, n.kind, a, b);
      if (rewritten >= 0) return rewritten;
    }
    const bool adds = n.kind == ExprKind::add || n.kind == ExprKind::sub;
    if (adds && is_constant(out_, b, 0) && ops::expr_arity(out_.nodes[size_t(a)].kind) > 0) return a;
    if (n.kind == ExprKind::pow && out_.nodes[size_t(b)].kind == ExprKind::constant) {
      const int product = rewrite_power(out_, a, out_.nodes[size_t(b)].value);
      if (product >= 0) return product;
    }
    if (n.kind != ExprKind::div) return out_.make(n.kind, a, b, c);
    const ExprNode divisor = out_.nodes[size_t(b)];
    const bool exact = divisor.kind == ExprKind::constant && is_power_of_two(divisor.value);
    if (exact || (!into_steps_[i] && is_number(b) && !is_number(a)))
      return out_.make(ExprKind::mul, a, out_.make(ExprKind::div, out_.constant(1), b));
    return out_.make(n.kind, a, b);
  }

  const Expr& in_;
  const std::vector<bool>& numbers_;
  const std::vector<bool> into_steps_;
  Expr out_;
};

}  // namespace

ops::Expr rewrite_for_vectors(const ops::Expr& in, const std::vector<bool>& numbers,
                              std::vector<int>* moved) {
  std::vector<int> ignored;
  return Rewriter(in, numbers).run(moved != nullptr ? *moved : ignored);
}

}  // namespace cs::autogen

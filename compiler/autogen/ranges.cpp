// Bounds of a node from those of its operands.
#include "compiler/autogen/ranges.h"

#include <cmath>

#include "compiler/autogen/conditions.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

Range product(Range a, Range b) {
  Range r{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (double x : {a.low, a.high}) {
    for (double y : {b.low, b.high}) {
      const double p = x == 0 || y == 0 ? 0 : x * y;
      r.low = std::min(r.low, p);
      r.high = std::max(r.high, p);
    }
  }
  return r;
}

Range range_of(const Expr& e, const ExprNode& n, const std::vector<Range>& known,
               std::span<const int> largest_of) {
  const Range a = n.a >= 0 ? known[size_t(n.a)] : Range{}, b = n.b >= 0 ? known[size_t(n.b)] : Range{};
  switch (n.kind) {
    case ExprKind::constant:
      if (std::isnan(n.value)) return {};
      return {n.value, n.value};
    case ExprKind::add:
      return {a.low + b.low, a.high + b.high};
    case ExprKind::sub: {
      const ExprNode& most = e.nodes[size_t(n.b)];
      const bool largest = most.kind == ExprKind::input && size_t(most.index) < largest_of.size() &&
                           largest_of[size_t(most.index)] == n.a;
      return {a.low - b.high, largest ? 0 : a.high - b.low, largest};
    }
    case ExprKind::mul: {
      const Range r = product(a, b);
      return n.a == n.b ? Range{std::max(0.0, r.low), r.high} : r;
    }
    case ExprKind::neg:
      return {-a.high, -a.low};
    case ExprKind::abs:
      if (a.low >= 0) return a;
      return {a.high <= 0 ? -a.high : 0, std::max(-a.low, a.high)};
    case ExprKind::min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case ExprKind::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case ExprKind::exp:
      return {std::exp(a.low), std::exp(a.high)};
    case ExprKind::sqrt:
      return {std::sqrt(std::max(0.0, a.low)), std::sqrt(std::max(0.0, a.high))};
    case ExprKind::log:
      return {std::log(std::max(0.0, a.low)), std::log(std::max(0.0, a.high))};
    case ExprKind::div:
      if (b.low <= 0 && b.high >= 0) return {};
      return product(a, {1 / b.high, 1 / b.low});
    case ExprKind::tanh:
    case ExprKind::erf:
      return {-1, 1};
    case ExprKind::round:
      return {std::nearbyint(a.low), std::nearbyint(a.high)};
    case ExprKind::select: {
      const Range c = known[size_t(n.c)];
      return {std::min(b.low, c.low), std::max(b.high, c.high)};
    }
    default:
      break;
  }
  return is_condition(n.kind) ? Range{0, 1} : Range{};
}

}  // namespace

std::vector<Range> ranges_of(const Expr& e, std::span<const int> largest_of) {
  std::vector<Range> ranges;
  for (const ExprNode& n : e.nodes) {
    Range r = range_of(e, n, ranges, largest_of);
    if (std::isnan(r.low)) r.low = Range{}.low;
    if (std::isnan(r.high)) r.high = Range{}.high;
    ranges.push_back(r);
  }
  return ranges;
}

}  // namespace cs::autogen

// Value of an Expr for one element, every operation rounded to T. min and max pass NaN on, as the field's
// libraries do.
#include "runtime/ops/expr.h"

#include <cmath>

#include "runtime/support/diag.h"

namespace cs::ops {

namespace {

template <typename T>
T apply(ExprKind kind, T a, T b, T c) {
  switch (kind) {
    case ExprKind::add:
      return a + b;
    case ExprKind::sub:
      return a - b;
    case ExprKind::mul:
      return a * b;
    case ExprKind::div:
      return a / b;
    case ExprKind::neg:
      return -a;
    case ExprKind::abs:
      return std::fabs(a);
    case ExprKind::min:
      return std::isnan(a) ? a : std::isnan(b) ? b : (b < a ? b : a);
    case ExprKind::max:
      return std::isnan(a) ? a : std::isnan(b) ? b : (a < b ? b : a);
    case ExprKind::exp:
      return std::exp(a);
    case ExprKind::log:
      return std::log(a);
    case ExprKind::sqrt:
      return std::sqrt(a);
    case ExprKind::tanh:
      return std::tanh(a);
    case ExprKind::erf:
      return std::erf(a);
    case ExprKind::sin:
      return std::sin(a);
    case ExprKind::cos:
      return std::cos(a);
    case ExprKind::pow:
      return std::pow(a, b);
    case ExprKind::floor:
      return std::floor(a);
    case ExprKind::ceil:
      return std::ceil(a);
    case ExprKind::round:
      return std::nearbyint(a);
    case ExprKind::lt:
      return T(a < b);
    case ExprKind::le:
      return T(a <= b);
    case ExprKind::gt:
      return T(a > b);
    case ExprKind::ge:
      return T(a >= b);
    case ExprKind::eq:
      return T(a == b);
    case ExprKind::ne:
      return T(a != b);
    case ExprKind::logical_not:
      return T(a == 0);
    case ExprKind::select:
      return a != 0 ? b : c;
    case ExprKind::constant:
    case ExprKind::input:
    case ExprKind::attr:
      break;
  }
  return T(0);
}

}  // namespace

template <typename T>
T expr_value(const Expr& e, std::span<const T> inputs, std::vector<T>& scratch) {
  scratch.resize(e.nodes.size());
  for (size_t i = 0; i < e.nodes.size(); ++i) {
    const ExprNode& n = e.nodes[i];
    auto at = [&](int k) { return k < 0 ? T(0) : scratch[size_t(k)]; };
    switch (n.kind) {
      case ExprKind::constant:
        scratch[i] = T(n.value);
        break;
      case ExprKind::input:
        CS_CHECK(size_t(n.index) < inputs.size(), "expression has more operands than were given");
        scratch[i] = inputs[size_t(n.index)];
        break;
      case ExprKind::attr:
        CS_CHECK(false, "attribute '" + n.name + "' is not bound");
        break;
      default:
        scratch[i] = apply<T>(n.kind, at(n.a), at(n.b), at(n.c));
    }
  }
  return scratch[size_t(e.root)];
}

template float expr_value<float>(const Expr&, std::span<const float>, std::vector<float>&);
template double expr_value<double>(const Expr&, std::span<const double>, std::vector<double>&);

}  // namespace cs::ops

// Functions count as their shortest evaluation that we know, without branches, exact to a few units in the
// last place of f32. A fused multiply-add is two operations. Polynomials are minimax (Remez), by Horner's
// rule.
//
// Ranges and degrees are those of the usual texts: J.-M. Muller, Elementary Functions (3rd ed., 2016), ch. 3,
// 9, 11; W. Cody, W. Waite, Software Manual for the Elementary Functions (1980); degrees were found by Remez
// exchange for an error of 1e-7.
#include "runtime/ops/operations.h"

namespace cs::ops {

namespace {

// a / d: an estimate of 1/d from the bits of d (1), three Newton steps y += y (1 - d y) of two multiply-adds
// (12), times a (1).
constexpr int kDivide = 14;
// sqrt x = x / sqrt x: an estimate from the bits (2), x / 2 (1), three Newton steps y (3/2 - x/2 y^2) (12),
// times x (1).
constexpr int kSquareRoot = 16;
// x log2 e to the nearest integer k by adding and subtracting a number (2 + 1), x - k ln 2 in two steps (4),
// a polynomial of degree 5 on [-ln 2 / 2, ln 2 / 2] (10), times 2^k (1).
constexpr int kExp = 18;
// Exponent and mantissa (3), m - 1 (1), a polynomial of degree 8 on [sqrt 1/2 - 1, sqrt 2 - 1] (16), plus k
// ln 2 (2).
constexpr int kLog = 22;
// A quotient of polynomials of degrees 13 and 6, odd and even, with x held within [-9, 9]: bounds (2), square
// (1), degree 6 (12), product (1), degree 3 (6), quotient. 1 - 2 / (1 + e^2x) is 34, but loses its digits
// near 0, and as (e^2x - 1) / (e^2x + 1) without that loss 37.
constexpr int kTanh = 2 + 1 + 12 + 1 + 6 + kDivide;
// x P(x^2) with x held within [-3.83, 3.83], beyond which erf is 1 in f32: bounds (2), square (1), moved to
// [-1, 1] (2), a polynomial of degree 15 (30), product (1). A quotient of polynomials or 1 - P e^(-x^2) needs
// more.
constexpr int kErf = 36;
// Quarter turns (3), x - k pi/2 in three steps (6), square (1), the polynomial of the longer of both (3
// multiply-adds and a product, 7), choice and sign (3).
constexpr int kSine = 20;
// y log x, then e to that power.
constexpr int kPower = kLog + 1 + kExp;
// Adding and subtracting 1.5 * 2^23; floor and ceil then compare and take one off.
constexpr int kRound = 2, kFloor = 4;

}  // namespace

int operations_of(ExprKind k) {
  switch (k) {
    case ExprKind::div:
      return kDivide;
    case ExprKind::sqrt:
      return kSquareRoot;
    case ExprKind::exp:
      return kExp;
    case ExprKind::log:
      return kLog;
    case ExprKind::tanh:
      return kTanh;
    case ExprKind::erf:
      return kErf;
    case ExprKind::sin:
    case ExprKind::cos:
      return kSine;
    case ExprKind::pow:
      return kPower;
    case ExprKind::round:
      return kRound;
    case ExprKind::floor:
    case ExprKind::ceil:
      return kFloor;
    default:
      return expr_arity(k) > 0 ? 1 : 0;
  }
}

double operations_of(const Expr& e) {
  double n = 0;
  for (const ExprNode& node : e.nodes) {
    // By a number: a multiplication.
    const bool number = node.kind == ExprKind::div && e.nodes[size_t(node.b)].kind == ExprKind::constant;
    n += number ? 1 : operations_of(node.kind);
  }
  return n;
}

}  // namespace cs::ops

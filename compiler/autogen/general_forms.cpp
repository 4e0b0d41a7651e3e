// Estimates from bits and the polynomials and Newton steps behind them. Coefficients are minimax polynomials
// (Remez exchange in f64, rounded to f32 one after the other); errors were measured in f32 over all exponents
// and are held by tests/unit/mapping/general_functions_test.cpp.
#include "compiler/autogen/general_forms.h"

#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace cs::autogen {

namespace {

// Horner's rule, in which an infinite argument meets no other infinity: the leading coefficient decides.
int horner(VectorProgram& p, int x, std::span<const double> c) {
  size_t k = c.size() - 2;
  int y = p.multiply_add(c[k], x, c[k + 1]);
  while (k-- > 0) y = p.add(p.mul(y, x), c[k]);
  return y;
}

// ---- reciprocal

// 1 / t on [2, 2.2735], which is where the product of a mantissa and VectorKind::opposite of it lies; at
// most 1.3e-4 too small and never too large.
constexpr std::array<double, 3> kInverse = {1.4067922830581665, -0.6590542793273926, 0.10281257331371307};

// One step from the estimate y of 1 / d, whose product with d is in that interval times `scale`, and one of
// Newton's; both give 2^power / d. Products with d are below 2^power, where they are rounded to the finer
// unit. What an infinity times 0 makes NaN is made some number again: the estimate is then the result
// already.
int refined(VectorProgram& p, int d, int y, double scale, int power) {
  std::array<double, 3> c = kInverse;
  for (size_t k = 0; k < c.size(); ++k) c[k] *= std::ldexp(1, power) / std::pow(scale, k + 1);
  const auto number = [&](int v, int times) { return p.indexed(VectorKind::finite, v, times); };
  const int first = p.mul(y, number(horner(p, p.mul(d, y), c), 0));
  const int rest = p.sub(std::ldexp(1, power), p.mul(d, first));
  return p.add(first, p.mul(first, number(rest, -power)));
}

// ---- roots

// (1 + u)^(-1/2) on [-0.086, 0.0523], which is where the product of x and the square of VectorKind::root
// lies; relative errors 2.8e-8 and 9.9e-10. The last coefficients give an infinite u the right sign.
struct Quartic {
  double inner, added, outer, constant, leading;
};
constexpr Quartic kRoot = {-1.0274620056152344, -0.4154995381832123, 2.065403699874878, 1.2035670280456543,
                           0.2969464361667633};
constexpr std::array<double, 6> kRootLong = {1.0,
                                             -0.5000000596046448,
                                             0.3749997019767761,
                                             -0.3124101758003235,
                                             0.274033784866333,
                                             -0.27154266834259033};

// Two products of slices where Horner's rule has three: constant + leading y (y + u + outer), y = (u + inner)
// u + added.
int quartic(VectorProgram& p, int u, const Quartic& c) {
  const int y = p.add(p.mul(p.add(u, c.inner), u), c.added);
  return p.multiply_add(c.constant, p.mul(y, p.add(p.add(y, u), c.outer)), c.leading);
}

// -0 is no negative number.
int with_plus_zero(VectorProgram& p, int x, bool negative) { return negative ? p.add(x, 0.0) : x; }

// ---- logarithm

// log(1 + f) / f on [-0.246, 0.508], relative error 2.7e-8; the last coefficient is positive.
constexpr std::array<double, 9> kLog = {1.0,
                                        -0.5000006556510925,
                                        0.33333462476730347,
                                        -0.249929741024971,
                                        0.19981271028518677,
                                        -0.1684103012084961,
                                        0.14947783946990967,
                                        -0.11845637857913971,
                                        0.05183397978544235};
constexpr double kExponentUnit = 128;  // of VectorKind::exponent

}  // namespace

// d = 2^k m, 1 / d = 2^-k / m; of an exponent close to the largest 2^(1 - k) is a number where 2^-k is none.
int general_reciprocal(VectorProgram& p, int d, bool normal) {
  if (normal) {
    const int half = p.indexed(VectorKind::scaled, d, -1);
    return refined(p, d, p.make(VectorKind::opposite, half), 2, 0);
  }
  const int m = p.make(VectorKind::mantissa, d);
  const int inverse = refined(p, m, p.make(VectorKind::opposite, m), 1, -1);
  return p.mul(inverse, p.make(VectorKind::inverse_power, d));
}

int square_root(VectorProgram& p, int x, bool negative) {
  const int y = p.indexed(VectorKind::root, with_plus_zero(p, x, negative), negative ? 1 : 0);
  const int root = p.mul(x, y);
  return p.mul(root, quartic(p, p.add(p.mul(root, y), -1.0), kRoot));
}

int inverse_root(VectorProgram& p, int x, bool negative) {
  constexpr double kLeast =
      0x1p-149;  // times a number of f32 nothing beside the result, times infinity infinity
  const int positive = with_plus_zero(p, x, negative);
  const int y = p.indexed(VectorKind::root, positive, negative ? 1 : 0);
  const int u = p.add(p.mul(p.mul(x, y), y), -1.0);
  const int root = p.mul(y, p.max(horner(p, u, kRootLong), 0.0));
  return p.multiply_add(root, p.make(VectorKind::opposite, positive), kLeast);
}

// x = 2^k (1 + f): k ln 2 + f P(f); 0 and infinity are what f is then.
int logarithm(VectorProgram& p, int x, bool negative) {
  const int positive = with_plus_zero(p, x, true);  // of -0 the middle would be infinity
  const int f = p.add(p.make(VectorKind::middle, p.make(VectorKind::mantissa, positive)), -1.0);
  const int word = p.indexed(VectorKind::exponent, positive, negative ? 1 : 0);
  const int k = p.add(word, -VectorProgram::kExponentOfOne);
  return p.multiply_add(p.mul(f, horner(p, f, kLog)), k, std::numbers::ln2 / kExponentUnit);
}

}  // namespace cs::autogen

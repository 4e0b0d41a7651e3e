// The table of vector forms. Coefficients are minimax polynomials (Remez exchange in f64, rounded to f32);
// errors were measured in f32 over the whole range and are held by tests/unit/mapping/functions_run_test.cpp.
#include "compiler/autogen/functions.h"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "compiler/autogen/conditions.h"
#include "compiler/autogen/general_forms.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

// ---- exponential

constexpr double kLog2e = std::numbers::log2e;
constexpr double kShift = 98304;  // 1.5 * 2^16: what is added to it is rounded to multiples of 2^-7
constexpr double kLowestPower = -125, kHighestPower = 128.4;
constexpr double kLargest = 88;  // of arguments whose exponential is surely finite
// 2^f on [-1/2, 1/2] is 1 + f (…): relative errors 9.1e-8 and 2.0e-9 before rounding.
constexpr std::array<double, 6> kExp2 = {1,
                                         0.6931470036506653,
                                         0.24022242426872253,
                                         0.05550733581185341,
                                         0.009671512991189957,
                                         0.001326472731307149};
constexpr std::array<double, 7> kExp2Long = {1,
                                             0.6931471824645996,
                                             0.24022647738456726,
                                             0.055503323674201965,
                                             0.00961843691766262,
                                             0.0013398873852565885,
                                             0.00015353361959569156};
// (2^f - 1) / f, relative error 1.1e-8.
constexpr std::array<double, 6> kExp2LessOne = {0.6931471824645996,    0.24022649228572845,
                                                0.05550357326865196,   0.009618237614631653,
                                                0.0013390735257416964, 0.00015403512225020677};

// v * factor held within [low, high] of the product; the factor's sign may change.
int clamped(VectorProgram& p, int v, double& factor, const Range& wanted, bool low, bool high) {
  for (int round = 0; round < 2; ++round) {
    // max(v, bound) is a lower bound of the product if the factor is positive, an upper one if not.
    const bool lower = factor > 0;
    if (lower ? low : high) {
      v = p.max(v, (lower ? wanted.low : wanted.high) / factor);
      (lower ? low : high) = false;
    }
    if (!low && !high) break;
    v = p.negate(v);
    factor = -factor;
  }
  return v;
}

struct PowerParts {
  int power = 0;     // a word whose lower half is 128 k
  int fraction = 0;  // f
};

// v * factor * log2 e = k + f with |f| <= 1/2. Adding 1.5 * 2^16 + 1/2 leaves 128 (k + 1/2 + f) in the lower
// half of the word; clearing seven bits leaves 1.5 * 2^16 + k. f also gets the part of the factor that one
// f32 cannot hold, `exact`, which matters where |v * factor| may be large.
PowerParts power_parts(VectorProgram& p, int v, double factor, bool exact = true) {
  const double all = factor * kLog2e;
  const auto head = double(float(all));
  PowerParts parts;
  parts.power = p.make(VectorKind::whole, p.multiply_add(kShift + 0.5, v, head));
  parts.fraction = p.multiply_add(p.sub(kShift, parts.power), v, head);
  if (exact) parts.fraction = p.multiply_add(parts.fraction, v, all - head);
  return parts;
}

int power(VectorProgram& p, int v, double factor, std::span<const double> c, bool exact = true) {
  const PowerParts parts = power_parts(p, v, factor, exact);
  return p.make(VectorKind::raise, p.polynomial(parts.fraction, c), parts.power);
}

// Without an upper bound of the argument the power is made half as large and doubled at the end, where it may
// overflow.
int exponential(VectorProgram& p, Range range, int x) {
  double factor = 1;
  int v = p.without_factor(x, factor);
  const Range wanted = {kLowestPower / kLog2e, kHighestPower / kLog2e};
  const bool low = range.low<wanted.low, high = range.high> kLargest;
  // A sum is uncertain by half a unit in its last place, which is more than what the factor's head leaves
  // out.
  const bool sum = p.node(v).kind == VectorKind::add || p.node(v).kind == VectorKind::sub;
  v = clamped(p, v, factor, wanted, low, high);
  std::vector<double> c(kExp2.begin(), kExp2.end());
  if (high) c.assign(kExp2Long.begin(), kExp2Long.end());
  if (high) {
    for (double& k : c) k *= 0.5;
  }
  const int y = power(p, v, factor, c, !sum);
  // What the lowest argument gives is taken off, so that it gives 0; beside a 1 it is nothing.
  const bool beside_one = range.attained && range.high == 0;
  const double least = low && !beside_one ? double(p.value_at(y, v, float(wanted.low / factor))) : 0;
  if (high) return p.multiply_add(-2 * least, y, 2);
  return least != 0 ? p.add(y, -least) : y;
}

// e^x - 1 = 2^k - 1 + 2^k f (…), which loses nothing near 0. `range`: of multiple * x. Without an upper bound
// half of it is made and doubled at the end, as exponential() does.
int exponential_less_one(VectorProgram& p, Range range, int x, double multiple = 1) {
  double factor = multiple;
  int v = p.without_factor(x, factor);
  const bool high = range.high > kLargest;
  const Range wanted = {kLowestPower / kLog2e, high ? kHighestPower / kLog2e : kLargest};
  v = clamped(p, v, factor, wanted, range.low < wanted.low, high);
  const PowerParts parts = power_parts(p, v, factor, high || range.low < -20);
  const int q = p.polynomial(parts.fraction, kExp2LessOne);
  const double one = high ? 0.5 : 1;
  const int whole = p.make(VectorKind::raise, p.make(VectorKind::copy, p.scalar(one)), parts.power);
  const int y = p.add(p.mul(p.mul(q, parts.fraction), whole), p.add(whole, -one));
  return high ? p.mul(y, 2.0) : y;
}

// z of e^z - 1, -1 if the node is something else.
int less_one(const Expr& e, int node) {
  const ExprNode& n = e.nodes[size_t(node)];
  if (n.kind != ExprKind::sub) return -1;
  const ExprNode &exp = e.nodes[size_t(n.a)], &one = e.nodes[size_t(n.b)];
  const bool fits = exp.kind == ExprKind::exp && one.kind == ExprKind::constant && one.value == 1;
  return fits ? exp.a : -1;
}

// ---- quotients

constexpr double kInverseLow = 0x1p-100, kInverseHigh = 0x1p125;

bool bounded(const Range& d) { return d.low >= kInverseLow && d.high <= kInverseHigh; }

// Three Newton steps from a number that is wrong by 9 % at most.
int reciprocal(VectorProgram& p, int d) {
  int y = p.make(VectorKind::inverse, d);
  for (int step = 0; step < 3; ++step) y = p.mul(y, p.sub(2.0, p.mul(d, y)));
  return y;
}

// z and the number of number + e^z, -1 if the node is something else.
int in_sum(const Expr& e, int node, double& number) {
  const ExprNode& sum = e.nodes[size_t(node)];
  if (sum.kind != ExprKind::add) return -1;
  for (auto [power, other] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}}) {
    const ExprNode &p = e.nodes[size_t(power)], &o = e.nodes[size_t(other)];
    if (p.kind != ExprKind::exp || o.kind != ExprKind::constant || o.value < 0 || o.value > 1e30) continue;
    number = o.value;
    return p.a;
  }
  return -1;
}

// 1 / (number + e^z): from z = 85 on 0, which is right within 1e-37.
int logistic(VectorProgram& p, Range range, int z, double number) {
  constexpr double kEnd = 85;
  double factor = 1;
  int v = p.without_factor(z, factor);
  const Range wanted = {kLowestPower / kLog2e, kEnd};
  const bool high = range.high > kEnd;
  v = clamped(p, v, factor, wanted, range.low < wanted.low, high);
  const int quotient = reciprocal(p, p.add(power(p, v, factor, kExp2), number));
  if (!high) return quotient;
  return p.add(quotient, -double(p.value_at(quotient, v, float(kEnd / factor))));
}

// 1 / the node, which is a slice.
int inverse_of(VectorProgram& p, const Expr& e, int node, const std::vector<Range>& ranges,
               std::span<const int> at) {
  double number = 0;
  const int z = in_sum(e, node, number), d = at[size_t(node)];
  if (z >= 0) return logistic(p, ranges[size_t(z)], at[size_t(z)], number);
  const Range range = ranges[size_t(node)];
  if (bounded(range)) return reciprocal(p, d);
  const ExprNode& n = e.nodes[size_t(node)];
  if (n.kind == ExprKind::sqrt && !p.is_number(d))
    return inverse_root(p, at[size_t(n.a)], ranges[size_t(n.a)].low < 0);
  return general_reciprocal(p, d, range.low >= kLeastNormal || range.high <= -kLeastNormal);
}

// ---- functions that end at -1 and 1

using Form = int (*)(VectorProgram&, int v, double factor);

// A bound near `end` at which the form gives exactly 1.
double exact_end(Form form, double end, double factor) {
  VectorProgram p;
  const int v = p.input(0), y = form(p, v, factor);
  const auto first = float(end / std::fabs(factor));
  float bound = first;
  for (int tries = 0; tries < 4096; ++tries, bound = std::nextafter(bound, 2 * bound)) {
    if (p.value_at(y, v, factor > 0 ? bound : -bound) == 1) return double(bound) * std::fabs(factor);
  }
  return double(first) * std::fabs(factor);
}

int saturating(VectorProgram& p, Form form, double end, Range range, int x) {
  double factor = 1;
  int v = p.without_factor(x, factor);
  const double exact = exact_end(form, end, factor);
  v = clamped(p, v, factor, {-exact, exact}, range.low<-end, range.high> end);
  return form(p, v, factor);
}

// ---- hyperbolic tangent: (e^2x - 1) / (e^2x + 1)

constexpr double kTanhEnd = 9.1;

int hyperbolic_tangent(VectorProgram& p, int v, double factor) {
  const int y = exponential_less_one(p, {-2 * kTanhEnd - 1, 2 * kTanhEnd + 1}, v, 2 * factor);
  return p.mul(y, reciprocal(p, p.add(y, 2.0)));
}

// ---- error function: x P(x^2), x held within [-3.83, 3.83], beyond which it is 1 up to 6e-8

constexpr double kErfEnd = 3.83;
// In 2 x^2 / 3.83^2 - 1; relative error 1.5e-8 before rounding.
constexpr std::array<double, 16> kErf = {
    0.3691990375518799,   -0.18423131108283997,   0.1368238478899002,    -0.11071734130382538,
    0.09080874174833298,  -0.0728655681014061,    0.056065768003463745,  -0.04056993126869202,
    0.027088535949587822, -0.017496617510914803,  0.011557819321751595,  -0.006084301974624395,
    0.001790458569303155, -0.0011325465748086572, 0.0014036680804565549, -0.0005436641513369977};

int error_function(VectorProgram& p, int v, double factor) {
  const int w = p.multiply_add(-1.0, p.mul(v, v), 2 * factor * factor / (kErfEnd * kErfEnd));
  std::vector<double> c(kErf.begin(), kErf.end());
  for (double& k : c) k *= factor;
  return p.mul(v, p.polynomial(w, c));
}

// ---- logarithm of 1 + y for y in [0, 1]: y P(y), relative error 3.0e-8 before rounding

constexpr std::array<double, 9> kLog1p = {0.9999999403953552,  -0.4999949336051941,  0.3331909775733948,
                                          -0.2484298199415207, 0.19106006622314453,  -0.13663245737552643,
                                          0.07822595536708832, -0.02950523979961872, 0.005232694558799267};

// y of log(1 + y), -1 if the node is none that the form holds for.
int above_one(const Expr& e, int node, const std::vector<Range>& ranges) {
  const ExprNode& sum = e.nodes[size_t(e.nodes[size_t(node)].a)];
  if (sum.kind != ExprKind::add) return -1;
  for (auto [one, y] : {std::pair{sum.a, sum.b}, std::pair{sum.b, sum.a}}) {
    const ExprNode& c = e.nodes[size_t(one)];
    const Range r = ranges[size_t(y)];
    if (c.kind == ExprKind::constant && c.value == 1 && r.low >= 0 && r.high <= 1) return y;
  }
  return -1;
}

}  // namespace

bool is_function(ExprKind k) {
  return k == ExprKind::exp || k == ExprKind::tanh || k == ExprKind::erf || k == ExprKind::log ||
         k == ExprKind::sqrt || k == ExprKind::div || k == ExprKind::select || is_condition(k);
}

bool has_vector_form(const Expr& e, int node, const std::vector<Range>& ranges) {
  const ExprNode& n = e.nodes[size_t(node)];
  switch (n.kind) {
    case ExprKind::add:
    case ExprKind::sub:
    case ExprKind::mul:
    case ExprKind::neg:
    case ExprKind::abs:
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::exp:
    case ExprKind::tanh:
    case ExprKind::erf:
      return true;
    case ExprKind::round: {
      const Range r = ranges[size_t(n.a)];
      return std::max(-r.low, r.high) <= VectorProgram::kMostToWhole;
    }
    case ExprKind::select:
      return true;
    case ExprKind::log:
      return above_one(e, node, ranges) >= 0 || !into_steps(e)[size_t(node)];
    case ExprKind::sqrt:
      return !into_steps(e)[size_t(node)];
    case ExprKind::div: {
      double number = 0;
      return bounded(ranges[size_t(n.b)]) || in_sum(e, n.b, number) >= 0 || !into_steps(e)[size_t(node)];
    }
    default:
      return is_condition(n.kind) && has_vector_comparison(e, node);
  }
}

int build_vector_form(VectorProgram& p, const Expr& e, int node, const std::vector<Range>& ranges,
                      std::span<const int> at) {
  const ExprNode& n = e.nodes[size_t(node)];
  const Range range = ranges[size_t(n.a)];
  const int a = at[size_t(n.a)], b = n.b >= 0 ? at[size_t(n.b)] : -1;
  switch (n.kind) {
    case ExprKind::add:
      return p.add(a, b);
    case ExprKind::sub: {
      const int z = less_one(e, node);
      return z >= 0 ? exponential_less_one(p, ranges[size_t(z)], at[size_t(z)]) : p.sub(a, b);
    }
    case ExprKind::mul:
      return p.mul(a, b);
    case ExprKind::neg:
      return p.negate(a);
    case ExprKind::abs:
      return p.magnitude(a);
    case ExprKind::min:
      return p.min(a, b);
    case ExprKind::max:
      return p.max(a, b);
    case ExprKind::round:
      return p.round(a);
    case ExprKind::exp:
      return exponential(p, range, a);
    case ExprKind::tanh:
      return saturating(p, hyperbolic_tangent, kTanhEnd, range, a);
    case ExprKind::erf:
      return saturating(p, error_function, kErfEnd, range, a);
    case ExprKind::select:
      return build_choice(p, e, node, at);
    case ExprKind::log: {
      const int above = above_one(e, node, ranges);
      if (above < 0) return logarithm(p, a, range.low < 0);
      return p.mul(at[size_t(above)], p.polynomial(at[size_t(above)], kLog1p));
    }
    case ExprKind::sqrt:
      return square_root(p, a, range.low < 0);
    case ExprKind::div: {
      const int inverse = inverse_of(p, e, n.b, ranges, at);
      const bool one = p.node(a).kind == VectorKind::scalar && p.node(a).value == 1;
      return one ? inverse : p.mul(a, inverse);
    }
    default:
      return build_comparison(p, e, node, at);
  }
}

}  // namespace cs::autogen

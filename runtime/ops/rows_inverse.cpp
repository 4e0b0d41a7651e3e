// Inverse trigonometric functions, written in what the expression language has.
//
// atan is odd. |x| is brought into [0, tan(π/8)] by atan(x) = π/2 - atan(1/x) = π/4 + atan((x - 1)/(x + 1)),
// where a polynomial of degree 11, fitted to the Chebyshev nodes, is exact to 1e-9. asin and acos are
// half-angle forms of atan that keep their accuracy near 1.
#include <fmt/format.h>

#include "runtime/ops/rows.h"

namespace cs::ops {

namespace {

std::string atan_text(const std::string& x) {
  constexpr double kCoefficients[] = {-0.06033240890862891, 0.10572814163007888, -0.14239982877082122,
                                      0.1999821079533863,   -0.3333330749338896, 0.9999999993921518};
  constexpr double kTan22 = 0.41421356237309503, kTan67 = 2.414213562373095;
  std::string a = "abs(" + x + ")";
  std::string r = fmt::format("select({0} > {1}, -1 / {0}, select({0} > {2}, ({0} - 1) / ({0} + 1), {0}))", a,
                              kTan67, kTan22);
  std::string start =
      fmt::format("select({0} > {1}, pi / 2, select({0} > {2}, pi / 4, 0))", a, kTan67, kTan22);
  std::string sum;
  for (double c : kCoefficients)
    sum = sum.empty() ? fmt::format("{}", c) : fmt::format("({} * {} * {} + {})", sum, r, r, c);
  return fmt::format("select({} < 0, -1, 1) * ({} + {} * {})", x, start, r, sum);
}

}  // namespace

void add_inverse_functions(Rows& t) {
  static const std::string kAtan = atan_text("x");
  static const std::string kAsin = "2 * (" + atan_text("(x / (1 + sqrt(1 - x * x)))") + ")";
  static const std::string kAcos = "2 * (" + atan_text("sqrt((1 - x) / (1 + x))") + ")";
  t.push_back(unary("atan", {"Atan"}, {}, kAtan, "1 / (1 + x * x)", 4));
  t.push_back(unary("asin", {"Asin"}, {}, kAsin, "1 / sqrt(1 - x * x)", 8));
  t.push_back(unary("acos", {"Acos"}, {}, kAcos, "-1 / sqrt(1 - x * x)", 8));
}

}  // namespace cs::ops

// The 16-bit formats against independent arithmetic.
//
//   f16    against the compiler's _Float16 (its software or F16C conversions), all 65536 values for unary
//   operations all    against doubles rounded by `nearest` below, which searches the sorted list of all
//   values of the format; the
//          exact result of +, -, · of two 16-bit numbers, and of a + b·s where it fits, is a double
//   fma    where the exact result does not fit a double: against 128-bit fixed point
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/numerics/half.h"
#include "runtime/numerics/numerics.h"

namespace cs::numerics {
namespace {

// The value of a bit pattern straight from the definition of the format.
double value_of(uint16_t bits, const Layout& l) {
  const int e = (bits & 0x7FFF) >> l.mantissa_bits;
  const int f = bits & ((1 << l.mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (e == (1 << l.exponent_bits) - 1) return f ? NAN : sign * INFINITY;
  if (e == 0) return sign * std::ldexp(f, 1 - l.bias - l.mantissa_bits);
  return sign * std::ldexp((1 << l.mantissa_bits) + f, e - l.bias - l.mantissa_bits);
}

template <Fp16Format F>
struct Reference {
  static const Layout& l() {
    static const Layout kLayout = layout(F);
    return kLayout;
  }
  // The positive finite values in order; index = bit pattern. One more: where overflow to infinity begins.
  static const std::vector<double>& values() {
    static const std::vector<double> list = [] {
      std::vector<double> v;
      for (int bits = 0; bits < Half<F>::kInf; ++bits) v.push_back(value_of(uint16_t(bits), l()));
      v.push_back(2 * std::ldexp(1, ((1 << l().exponent_bits) - 2) - l().bias));
      return v;
    }();
    return list;
  }
  static uint16_t nearest(double x) {
    if (std::isnan(x)) return Half<F>::kNan;
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const double m = std::fabs(x);
    const auto& v = values();
    if (m >= v.back()) return uint16_t(sign | Half<F>::kInf);
    const size_t high = size_t(std::upper_bound(v.begin(), v.end(), m) - v.begin());
    const size_t low = high - 1;
    const double below = m - v[low], above = v[high] - m;  // exact: neighbours are close
    if (below != above) return uint16_t(sign | (below < above ? low : high));
    return uint16_t(sign | (low % 2 == 0 ? low : high));
  }
  static double value(uint16_t bits) { return value_of(bits, l()); }
};

template <Fp16Format F>
constexpr uint16_t kEdges[] = {0x0000,
                               0x8000,
                               0x0001,
                               0x8001,
                               0x0002,
                               Half<F>::kMantissa,
                               Half<F>::kMantissa + 1,
                               Half<F>::kMantissa + 2,
                               uint16_t(Half<F>::kBias << Half<F>::kM),
                               uint16_t((Half<F>::kBias << Half<F>::kM) - 1),
                               uint16_t((Half<F>::kBias << Half<F>::kM) + 1),
                               uint16_t(0x8000 | (Half<F>::kBias << Half<F>::kM)),
                               uint16_t((Half<F>::kBias + 1) << Half<F>::kM),
                               uint16_t((Half<F>::kBias + Half<F>::kM) << Half<F>::kM),
                               uint16_t((Half<F>::kBias - Half<F>::kM - 1) << Half<F>::kM),
                               Half<F>::kInf - 1,
                               uint16_t(0x8000 | (Half<F>::kInf - 1)),
                               Half<F>::kInf,
                               uint16_t(0x8000 | Half<F>::kInf),
                               Half<F>::kInf + 1,
                               Half<F>::kNan,
                               0xFFFF};

// Calls f(a, b) for the cross product of the edges and for many pseudo-random pairs.
template <Fp16Format F, typename Fn>
void for_pairs(int samples, Fn&& f) {
  for (uint16_t a : kEdges<F>)
    for (uint16_t b : kEdges<F>) f(a, b);
  for (int a = 0; a < 65536; ++a)
    for (uint16_t b : kEdges<F>) f(uint16_t(a), b);
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < samples; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    f(uint16_t(state), uint16_t(state >> 16));
    // A partner of similar size: cancellation and ties.
    f(uint16_t(state), uint16_t((state & 0x7FFF) ^ (state >> 16 & 0x83FF)));
  }
}

template <typename F>
class HalfTest : public ::testing::Test {};
template <Fp16Format F>
struct Tag {
  static constexpr Fp16Format kFormat = F;
};
using Formats = ::testing::Types<Tag<Fp16Format::f16>, Tag<Fp16Format::bf16>, Tag<Fp16Format::cb16>>;
TYPED_TEST_SUITE(HalfTest, Formats);

TYPED_TEST(HalfTest, widens_exactly_and_narrows_back) {
  using H = Half<TypeParam::kFormat>;
  for (int i = 0; i < 65536; ++i) {
    const uint16_t a = uint16_t(i);
    const float wide = std::bit_cast<float>(H::to_f32(a));
    const double want = Reference<TypeParam::kFormat>::value(a);
    if (std::isnan(want)) {
      ASSERT_EQ(H::to_f32(a), 0x7FC00000u);
      ASSERT_EQ(H::from_f32(H::to_f32(a)), H::kNan);
      continue;
    }
    ASSERT_EQ(double(wide), want) << i;
    ASSERT_EQ(std::signbit(wide), std::signbit(want)) << i;
    ASSERT_EQ(H::from_f32(H::to_f32(a)), a);
  }
}

TYPED_TEST(HalfTest, narrows_to_the_nearest) {
  using H = Half<TypeParam::kFormat>;
  using R = Reference<TypeParam::kFormat>;
  // Every value, every midpoint above it, and the floats beside the midpoint.
  for (size_t i = 0; i + 1 < R::values().size(); ++i) {
    const float mid = float((R::values()[i] + R::values()[i + 1]) / 2);
    for (float x : {mid, std::nextafterf(mid, 0), std::nextafterf(mid, INFINITY), float(R::values()[i])})
      for (float y : {x, -x}) ASSERT_EQ(H::from_f32(std::bit_cast<uint32_t>(y)), R::nearest(double(y))) << y;
  }
  uint32_t bits = 1;
  for (int i = 0; i < 1000000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    ASSERT_EQ(H::from_f32(bits), R::nearest(double(std::bit_cast<float>(bits)))) << bits;
  }
}

TYPED_TEST(HalfTest, unary_operations_of_all_values) {
  using H = Half<TypeParam::kFormat>;
  using R = Reference<TypeParam::kFormat>;
  for (int i = 0; i < 65536; ++i) {
    const uint16_t a = uint16_t(i);
    const double v = R::value(a);
    ASSERT_EQ(H::neg(a), a ^ 0x8000);
    ASSERT_EQ(H::abs(a), a & 0x7FFF);
    int exponent = 0;
    const double m = std::frexp(v, &exponent);
    ASSERT_EQ(H::norm(a), R::nearest(v == 0 || std::isinf(v) ? v : 2 * m)) << v;
    for (int n : {-300, -20, -7, -1, 0, 1, 3, 11, 40, 300, -32768, 32767})
      ASSERT_EQ(H::scale(a, n), R::nearest(std::ldexp(v, n))) << v << " " << n;
    const double t = std::isnan(v) ? 0 : std::clamp(std::trunc(v), -32768.0, 32767.0);
    ASSERT_EQ(H::to_int(a, -32768, 32767), int64_t(t)) << v;
    ASSERT_EQ(H::from_int(int16_t(a)), R::nearest(double(int16_t(a))));
  }
}

TYPED_TEST(HalfTest, sum_difference_product_quotient) {
  using H = Half<TypeParam::kFormat>;
  using R = Reference<TypeParam::kFormat>;
  constexpr Fp16Format kF = TypeParam::kFormat;
  for_pairs<kF>(500000, [](uint16_t a, uint16_t b) {
    const double x = R::value(a), y = R::value(b);
    // Sums of bf16 numbers far apart do not fit a double; a double still rounds to the same bf16, because
    // 53 >= 2 · 8 + 2. Quotients: 53 >= 2 · 11 + 2. Products are exact.
    ASSERT_EQ(H::add(a, b), R::nearest(x + y)) << x << " + " << y;
    ASSERT_EQ(H::sub(a, b), R::nearest(x - y)) << x << " - " << y;
    ASSERT_EQ(H::mul(a, b), R::nearest(x * y)) << x << " * " << y;
    ASSERT_EQ(H::div(a, b), R::nearest(x / y)) << x << " / " << y;
  });
}

TYPED_TEST(HalfTest, comparisons_max_min) {
  using H = Half<TypeParam::kFormat>;
  using R = Reference<TypeParam::kFormat>;
  for_pairs<TypeParam::kFormat>(200000, [](uint16_t a, uint16_t b) {
    const double x = R::value(a), y = R::value(b);
    ASSERT_EQ(H::eq(a, b), x == y);
    ASSERT_EQ(H::lt(a, b), x < y) << x << " " << y;
    ASSERT_EQ(H::le(a, b), x <= y);
    const bool nan = std::isnan(x) || std::isnan(y);
    const bool zeros = x == 0 && y == 0;
    const uint16_t both = std::signbit(x) && std::signbit(y) ? 0x8000 : 0;
    const uint16_t any = std::signbit(x) || std::signbit(y) ? 0x8000 : 0;
    ASSERT_EQ(H::max(a, b), nan ? H::kNan : zeros ? both : x > y ? a : b);
    ASSERT_EQ(H::min(a, b), nan ? H::kNan : zeros ? any : x < y ? a : b);
  });
}

// a + b · s in 128-bit fixed point with the last bit at 2^low, rounded by hand. f16 only: the result spans
// 2^-48 … 2^33.
uint16_t fma_f16_reference(uint16_t a, uint16_t b, uint16_t s) {
  using R = Reference<Fp16Format::f16>;
  const double x = R::value(a), y = R::value(b), z = R::value(s);
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) return R::nearest(x + y * z);
  auto fixed = [](double v, int low) { return static_cast<__int128>(std::ldexp(v, -low)); };
  const __int128 total = fixed(x, -24) * (__int128(1) << 24) + fixed(y, -24) * fixed(z, -24);
  if (total == 0) return R::nearest(x + y * z);
  const __int128 m = total < 0 ? -total : total;
  // Compare with every value of the format by bisection, in units of 2^-48.
  auto at = [&](size_t i) { return fixed(R::values()[i], -24) * (__int128(1) << 24); };
  size_t low = 0, high = R::values().size() - 1;
  const uint16_t sign = total < 0 ? 0x8000 : 0;
  if (m >= at(high)) return uint16_t(sign | Half<Fp16Format::f16>::kInf);
  while (high - low > 1) (at((low + high) / 2) <= m ? low : high) = (low + high) / 2;
  const __int128 below = m - at(low), above = at(high) - m;
  if (below != above) return uint16_t(sign | (below < above ? low : high));
  return uint16_t(sign | (low % 2 == 0 ? low : high));
}

TEST(HalfFma, f16_against_fixed_point) {
  using H = Half<Fp16Format::f16>;
  for (int a : {0x0000, 0x0001, 0x83FF, 0x3C00, 0x7BFF, 0xFC00})
    for_pairs<Fp16Format::f16>(0, [a = uint16_t(a)](uint16_t b, uint16_t s) {
      ASSERT_EQ(H::fma(a, b, s), fma_f16_reference(a, b, s)) << a << " " << b << " " << s;
    });
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 1000000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const uint16_t a = uint16_t(state), b = uint16_t(state >> 16), s = uint16_t(state >> 32);
    ASSERT_EQ(H::fma(a, b, s), fma_f16_reference(a, b, s)) << a << " " << b << " " << s;
    // An addend that nearly cancels the product: the bits that one rounding keeps and two would lose.
    const uint16_t near = uint16_t(H::mul(b, s) ^ 0x8000 ^ (state >> 60 & 1));
    ASSERT_EQ(H::fma(near, b, s), fma_f16_reference(near, b, s)) << near << " " << b << " " << s;
  }
}

// bf16 and cb16: products have at most 20 bits, so within 2^32 of each other the exact sum fits a double.
TYPED_TEST(HalfTest, fma_where_doubles_are_exact) {
  using H = Half<TypeParam::kFormat>;
  using R = Reference<TypeParam::kFormat>;
  uint64_t state = 0x2545F4914F6CDD1Du;
  int checked = 0;
  for (int i = 0; i < 2000000; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const uint16_t b = uint16_t(state), s = uint16_t(state >> 16);
    const uint16_t product = H::mul(b, s);
    const uint16_t a = i % 2 ? uint16_t(state >> 32) : uint16_t(product ^ 0x8000 ^ (state >> 40 & 0x3FF));
    const double x = R::value(a), y = R::value(b) * R::value(s);
    const bool finite = std::isfinite(x) && std::isfinite(y) && x != 0 && y != 0;
    if (finite && std::abs(std::ilogb(x) - std::ilogb(y)) > 30) continue;
    ++checked;
    ASSERT_EQ(H::fma(a, b, s), R::nearest(x + y)) << x << " + " << y;
  }
  EXPECT_GT(checked, 500000);
}

// Far apart: the smaller operand only decides ties. Half an ulp above 1 is a tie; a tiny product breaks it.
TYPED_TEST(HalfTest, fma_far_apart_breaks_ties) {
  using H = Half<TypeParam::kFormat>;
  const uint16_t one = uint16_t(H::kBias << H::kM);
  const uint16_t next = uint16_t(one + 1);
  const uint16_t tiny = 1;                                              // smallest subnormal
  const uint16_t low_half = uint16_t((H::kBias - H::kM - 1) << H::kM);  // half an ulp of 1
  // 1 + half an ulp is a tie and goes to even (1); with b slightly above 1 it is no tie any more.
  EXPECT_EQ(H::fma(one, low_half, one), one);
  EXPECT_EQ(H::fma(one, low_half, next), next);
  EXPECT_EQ(H::fma(one, tiny, tiny), one);
  EXPECT_EQ(H::fma(one, H::neg(tiny), tiny), one);
  EXPECT_EQ(H::fma(H::kInf - 1, tiny, tiny), H::kInf - 1);
}

#ifdef __FLT16_MAX__
TEST(HalfF16, agrees_with_the_compilers_type) {
  using H = Half<Fp16Format::f16>;
  for_pairs<Fp16Format::f16>(300000, [](uint16_t a, uint16_t b) {
    const _Float16 x = std::bit_cast<_Float16>(a), y = std::bit_cast<_Float16>(b);
    auto check = [&](uint16_t got, _Float16 want, const char* what) {
      if (want != want)
        ASSERT_EQ(got, H::kNan) << what << a << " " << b;
      else
        ASSERT_EQ(got, std::bit_cast<uint16_t>(want)) << what << " " << a << " " << b;
    };
    check(H::add(a, b), x + y, "add");
    check(H::mul(a, b), x * y, "mul");
    check(H::div(a, b), x / y, "div");
  });
}
#endif

TEST(Cb16, six_is_what_the_documented_encoding_gives) {
  // 6 = 1.5 · 2^2: exponent field 2 + 42 = 44, mantissa 0.5 · 512 = 256.
  EXPECT_EQ(float_to_half(6.0f, Fp16Format::cb16), 44 << 9 | 256);
  EXPECT_EQ(half_max(Fp16Format::cb16), std::ldexp(2.0f - std::ldexp(1.0f, -9), 62 - 42));
  EXPECT_EQ(half_max(Fp16Format::f16), 65504.0f);
}

TEST(Formats, names) {
  for (Fp16Format f : {Fp16Format::f16, Fp16Format::bf16, Fp16Format::cb16})
    EXPECT_EQ(fp16_from_name(fp16_name(f)), f);
  EXPECT_EQ(half_to_float(0x3F80, Fp16Format::bf16), 1.0f);
  EXPECT_FALSE(fp16_from_name("f32").has_value());
}

}  // namespace
}  // namespace cs::numerics

// 32-bit floating point: the host's FPU, IEEE single precision, nearest-even, with the few things that hosts
// do differently nailed down so that values are the same everywhere: NaN results are the positive quiet NaN,
// fused multiply-add is explicit and rounds once, conversions to integers saturate, max and min order -0
// before +0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace cs::numerics {

static_assert(std::numeric_limits<float>::is_iec559 && sizeof(float) == 4);

inline constexpr uint32_t kNanBits = 0x7FC00000;
inline float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t to_bits(float x) { return std::bit_cast<uint32_t>(x); }
// The one NaN that arithmetic produces.
inline float canonical(float x) { return x != x ? from_bits(kNanBits) : x; }

inline float add(float a, float b) { return canonical(a + b); }
inline float sub(float a, float b) { return canonical(a - b); }
inline float mul(float a, float b) { return canonical(a * b); }
inline float div(float a, float b) { return canonical(a / b); }
inline float fma(float a, float b, float s) { return canonical(std::fma(b, s, a)); }  // a + b · s

inline float max(float a, float b) {
  if (a != a || b != b) return from_bits(kNanBits);
  if (a == b) return from_bits(to_bits(a) & to_bits(b));  // equal bits, or zeros: -0 only if both are
  return a > b ? a : b;
}
inline float min(float a, float b) {
  if (a != a || b != b) return from_bits(kNanBits);
  if (a == b) return from_bits(to_bits(a) | to_bits(b));
  return a < b ? a : b;
}
inline uint32_t neg_bits(uint32_t a) { return a ^ 0x80000000u; }
inline uint32_t abs_bits(uint32_t a) { return a & 0x7FFFFFFFu; }

// ± mantissa in [1, 2); ±0 and ±inf stay.
inline float norm(float a) {
  if (a == 0 || std::isinf(a)) return a;
  int exponent = 0;
  return canonical(2 * std::frexp(a, &exponent));
}
inline float scale(float a, int n) { return canonical(std::ldexp(a, n)); }

// Toward zero, saturating; NaN gives 0.
template <typename Int>
Int to_int(float a) {
  if (a != a) return 0;
  const double x = std::trunc(double(a));
  if (x <= double(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
  if (x >= double(std::numeric_limits<Int>::max())) return std::numeric_limits<Int>::max();
  return Int(x);
}

}  // namespace cs::numerics

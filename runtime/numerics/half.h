// 16-bit floating-point arithmetic on bit patterns, in integer code, for f16, bf16 and cb16.
//
// Every operation
//   1. unpacks its operands into sign, integer significand and exponent (value = ± significand · 2^exponent),
//   2. computes the exact result in 64 bits, or one whose last bit is "sticky" when the operands are far
//   apart,
//   3. rounds once, to nearest, ties to even, with gradual underflow and overflow to infinity.
// All three formats keep the all-ones exponent for infinity and NaN and have subnormals. For f16 and bf16
// that is IEEE and the vendor's documents; for cb16 only the layout and the bias are documented, the rest is
// our assumption. Every NaN that an operation produces is the positive quiet NaN. neg and abs change the sign
// bit and nothing else.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/numerics/fp16_format.h"

namespace cs::numerics {

struct Layout {
  int exponent_bits, mantissa_bits, bias;
};
constexpr Layout layout(Fp16Format f) {
  switch (f) {
    case Fp16Format::bf16:
      return {8, 7, 127};
    case Fp16Format::cb16:
      return {6, 9, 42};
    default:
      return {5, 10, 15};
  }
}

// A finite number: (-1)^sign · sig · 2^exp, and a bit more if sticky.
struct Unpacked {
  bool sign = false;
  uint64_t sig = 0;
  int exp = 0;
  bool sticky = false;
};

template <Fp16Format F>
struct Half {
  static constexpr int kM = layout(F).mantissa_bits;
  static constexpr int kBias = layout(F).bias;
  static constexpr int kMaxExponent = (1 << layout(F).exponent_bits) - 1;
  static constexpr int kMinLsb = 1 - kBias - kM;  // exponent of a subnormal's last bit
  static constexpr uint16_t kSign = 0x8000;
  static constexpr uint16_t kMantissa = (1 << kM) - 1;
  static constexpr uint16_t kInf = uint16_t(kMaxExponent << kM);
  static constexpr uint16_t kNan = uint16_t(kInf | 1 << (kM - 1));

  static constexpr bool is_nan(uint16_t a) { return (a & 0x7FFF) > kInf; }
  static constexpr bool is_inf(uint16_t a) { return (a & 0x7FFF) == kInf; }
  static constexpr bool is_zero(uint16_t a) { return (a & 0x7FFF) == 0; }
  static constexpr uint16_t zero(bool sign) { return sign ? kSign : uint16_t(0); }
  static constexpr uint16_t inf(bool sign) { return uint16_t(zero(sign) | kInf); }

  static constexpr Unpacked unpack(uint16_t a) {
    const int e = (a & 0x7FFF) >> kM;
    const uint64_t f = a & kMantissa;
    return {(a & kSign) != 0, e ? f | 1u << kM : f, e ? e - kBias - kM : kMinLsb, false};
  }
  static constexpr uint16_t round(const Unpacked& u);

  static constexpr uint16_t add(uint16_t a, uint16_t b) { return sum(a, b, unpack(b)); }
  static constexpr uint16_t sub(uint16_t a, uint16_t b) { return is_nan(b) ? kNan : add(a, neg(b)); }
  static constexpr uint16_t mul(uint16_t a, uint16_t b);
  static constexpr uint16_t div(uint16_t a, uint16_t b);
  static constexpr uint16_t fma(uint16_t a, uint16_t b, uint16_t s);  // a + b · s, rounded once
  static constexpr uint16_t max(uint16_t a, uint16_t b);              // NaN wins; -0 < +0
  static constexpr uint16_t min(uint16_t a, uint16_t b);
  static constexpr uint16_t neg(uint16_t a) { return a ^ kSign; }
  static constexpr uint16_t abs(uint16_t a) { return a & 0x7FFF; }
  static constexpr bool eq(uint16_t a, uint16_t b) {
    return !is_nan(a) && !is_nan(b) && (a == b || (is_zero(a) && is_zero(b)));
  }
  static constexpr bool lt(uint16_t a, uint16_t b) {
    return !is_nan(a) && !is_nan(b) && !(is_zero(a) && is_zero(b)) && order(a) < order(b);
  }
  static constexpr bool le(uint16_t a, uint16_t b) { return lt(a, b) || eq(a, b); }
  static constexpr uint16_t norm(uint16_t a);          // ± mantissa in [1, 2); ±0, ±inf stay
  static constexpr uint16_t scale(uint16_t a, int n);  // a · 2^n

  static constexpr uint32_t to_f32(uint16_t a);  // exact; bits of a float
  static constexpr uint16_t from_f32(uint32_t bits);
  static constexpr uint16_t from_int(int64_t i) {
    return round({i < 0, i < 0 ? 0 - uint64_t(i) : uint64_t(i), 0, false});
  }
  static constexpr int64_t to_int(uint16_t a, int64_t low, int64_t high);  // toward zero, saturating, NaN 0

 private:
  // Monotonic in the value for everything but NaN (and -0 just below +0).
  static constexpr int order(uint16_t a) { return a & kSign ? -1 - (a & 0x7FFF) : a; }
  static constexpr uint16_t sum(uint16_t a, uint16_t b_bits, Unpacked b);
};

// Exact sum of two finite numbers with significands below 2^23, the last bit sticky if they are far apart.
constexpr Unpacked add_exact(Unpacked a, Unpacked b) {
  if (a.sig == 0) return b.sig == 0 ? Unpacked{a.sign && b.sign, 0, 0, false} : b;
  if (b.sig == 0) return a;
  if (a.exp < b.exp) {
    const Unpacked t = a;
    a = b;
    b = t;
  }
  constexpr int kRoom = 39;  // 23 + 39 bits and a carry fit 63
  const int distance = a.exp - b.exp;
  const int up = distance < kRoom ? distance : kRoom;
  const int down = distance - up < 63 ? distance - up : 63;
  const int64_t left = int64_t(a.sig << up);
  int64_t right = int64_t(b.sig >> down);
  const bool lost = b.sig != uint64_t(right) << down;
  if (a.sign != b.sign) right = -right - lost;  // a borrow for what lies below
  const int64_t total = left + right;
  if (total == 0) return {false, 0, 0, false};
  const bool negative = total < 0;  // only without loss: then the shifted significand is far larger
  return {a.sign != negative, uint64_t(negative ? -total : total), a.exp - up, lost};
}

template <Fp16Format F>
constexpr uint16_t Half<F>::round(const Unpacked& u) {
  if (u.sig == 0) return zero(u.sign);
  const int width = int(std::bit_width(u.sig));
  int lsb = u.exp + width - (kM + 1);
  if (lsb < kMinLsb) lsb = kMinLsb;
  const int shift = lsb - u.exp;
  uint64_t q;
  if (shift <= 0) {
    q = u.sig << -shift;
  } else if (shift > 63) {
    q = 0;
  } else {
    q = u.sig >> shift;
    const uint64_t rest = u.sig & ((uint64_t(1) << shift) - 1);
    const uint64_t half = uint64_t(1) << (shift - 1);
    if (rest > half || (rest == half && (u.sticky || (q & 1)))) ++q;
  }
  if (q >> (kM + 1)) {
    q >>= 1;
    ++lsb;
  }
  if (q < (1u << kM)) return uint16_t(zero(u.sign) | q);
  const int exponent = lsb + kBias + kM;
  if (exponent >= kMaxExponent) return inf(u.sign);
  return uint16_t(zero(u.sign) | exponent << kM | (q & kMantissa));
}

// a + b, where b_bits tells whether b is special.
template <Fp16Format F>
constexpr uint16_t Half<F>::sum(uint16_t a, uint16_t b_bits, Unpacked b) {
  if (is_nan(a) || is_nan(b_bits)) return kNan;
  if (is_inf(a)) return is_inf(b_bits) && ((a ^ b_bits) & kSign) ? kNan : a;
  if (is_inf(b_bits)) return b_bits;
  return round(add_exact(unpack(a), b));
}

template <Fp16Format F>
constexpr uint16_t Half<F>::mul(uint16_t a, uint16_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  const bool sign = (a ^ b) & kSign;
  if (is_inf(a) || is_inf(b)) return is_zero(a) || is_zero(b) ? kNan : inf(sign);
  const Unpacked x = unpack(a), y = unpack(b);
  return round({sign, x.sig * y.sig, x.exp + y.exp, false});
}

template <Fp16Format F>
constexpr uint16_t Half<F>::div(uint16_t a, uint16_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  const bool sign = (a ^ b) & kSign;
  if (is_inf(a)) return is_inf(b) ? kNan : inf(sign);
  if (is_inf(b)) return zero(sign);
  if (is_zero(b)) return is_zero(a) ? kNan : inf(sign);
  const Unpacked x = unpack(a), y = unpack(b);
  const uint64_t dividend = x.sig << 40;
  return round({sign, dividend / y.sig, x.exp - y.exp - 40, dividend % y.sig != 0});
}

template <Fp16Format F>
constexpr uint16_t Half<F>::fma(uint16_t a, uint16_t b, uint16_t s) {
  if (is_nan(a) || is_nan(b) || is_nan(s)) return kNan;
  const bool sign = (b ^ s) & kSign;
  if (is_inf(b) || is_inf(s)) {
    if (is_zero(b) || is_zero(s)) return kNan;
    return sum(a, inf(sign), {});
  }
  const Unpacked x = unpack(b), y = unpack(s);
  return sum(a, zero(sign), {sign, x.sig * y.sig, x.exp + y.exp, false});
}

template <Fp16Format F>
constexpr uint16_t Half<F>::max(uint16_t a, uint16_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  return order(a) >= order(b) ? a : b;
}

template <Fp16Format F>
constexpr uint16_t Half<F>::min(uint16_t a, uint16_t b) {
  if (is_nan(a) || is_nan(b)) return kNan;
  return order(a) <= order(b) ? a : b;
}

template <Fp16Format F>
constexpr uint16_t Half<F>::norm(uint16_t a) {
  if (is_nan(a)) return kNan;
  if (is_inf(a) || is_zero(a)) return a;
  const Unpacked u = unpack(a);
  return round({u.sign, u.sig, 1 - int(std::bit_width(u.sig)), false});
}

template <Fp16Format F>
constexpr uint16_t Half<F>::scale(uint16_t a, int n) {
  if (is_nan(a)) return kNan;
  if (is_inf(a) || is_zero(a)) return a;
  const Unpacked u = unpack(a);
  return round({u.sign, u.sig, u.exp + n, false});
}

template <Fp16Format F>
constexpr uint32_t Half<F>::to_f32(uint16_t a) {
  const uint32_t sign = uint32_t(a & kSign) << 16;
  if (is_nan(a)) return 0x7FC00000;
  if (is_inf(a)) return sign | 0x7F800000;
  if constexpr (F == Fp16Format::bf16) return uint32_t(a) << 16;
  const Unpacked u = unpack(a);
  if (u.sig == 0) return sign;
  const int width = int(std::bit_width(u.sig));
  return sign | uint32_t(u.exp + width - 1 + 127) << 23 | (uint32_t(u.sig << (24 - width)) & 0x7FFFFF);
}

template <Fp16Format F>
constexpr uint16_t Half<F>::from_f32(uint32_t bits) {
  const bool sign = bits >> 31;
  const int e = int(bits >> 23 & 0xFF);
  const uint32_t f = bits & 0x7FFFFF;
  if (e == 0xFF) return f ? kNan : inf(sign);
  return round({sign, e ? f | 0x800000u : f, e ? e - 150 : -149, false});
}

template <Fp16Format F>
constexpr int64_t Half<F>::to_int(uint16_t a, int64_t low, int64_t high) {
  if (is_nan(a)) return 0;
  const Unpacked u = unpack(a);
  if (is_inf(a) || u.exp > 40) return u.sig == 0 ? 0 : u.sign ? low : high;
  const int64_t magnitude = int64_t(u.exp >= 0 ? u.sig << u.exp : u.exp < -63 ? 0 : u.sig >> -u.exp);
  const int64_t value = u.sign ? -magnitude : magnitude;
  return value < low ? low : value > high ? high : value;
}

}  // namespace cs::numerics

// 32-bit floats: the rules that hosts differ in, with values from IEEE 754.
#include <gtest/gtest.h>

#include "runtime/numerics/single.h"

namespace cs::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Single, every_nan_result_is_the_positive_quiet_one) {
  const float negative_nan = from_bits(0xFFC12345), signalling = from_bits(0x7F800001);
  EXPECT_EQ(to_bits(add(kInf, -kInf)), kNanBits);
  EXPECT_EQ(to_bits(add(negative_nan, 1)), kNanBits);
  EXPECT_EQ(to_bits(sub(1, signalling)), kNanBits);
  EXPECT_EQ(to_bits(mul(0, kInf)), kNanBits);
  EXPECT_EQ(to_bits(div(0, 0)), kNanBits);
  EXPECT_EQ(to_bits(fma(negative_nan, 1, 1)), kNanBits);
  EXPECT_EQ(to_bits(max(negative_nan, 1)), kNanBits);
  EXPECT_EQ(to_bits(min(1, negative_nan)), kNanBits);
  EXPECT_EQ(to_bits(norm(negative_nan)), kNanBits);
  EXPECT_EQ(neg_bits(0x7FC00000u), 0xFFC00000u) << "the sign bit and nothing else";
}

TEST(Single, fma_rounds_once) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; minus (1 + 2^-11) leaves 2^-24, which a rounded product loses.
  const float x = 1 + std::ldexp(1.0f, -12);
  EXPECT_EQ(fma(-(1 + std::ldexp(1.0f, -11)), x, x), std::ldexp(1.0f, -24));
}

TEST(Single, zeros_are_ordered) {
  EXPECT_EQ(to_bits(max(-0.0f, 0.0f)), 0u);
  EXPECT_EQ(to_bits(max(0.0f, -0.0f)), 0u);
  EXPECT_EQ(to_bits(max(-0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(to_bits(min(0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(max(3, -4), 3);
  EXPECT_EQ(min(3, -kInf), -kInf);
}

TEST(Single, subnormals_are_kept) {
  const float tiny = from_bits(1);
  EXPECT_EQ(to_bits(add(tiny, tiny)), 2u);
  EXPECT_EQ(to_bits(mul(from_bits(0x00800000), 0.5f)), 0x00400000u);
}

TEST(Single, mantissa_and_scale) {
  EXPECT_EQ(norm(-12.0f), -1.5f);
  EXPECT_EQ(norm(from_bits(3)), 1.5f) << "3 · 2^-149";
  EXPECT_EQ(norm(kInf), kInf);
  EXPECT_EQ(to_bits(norm(-0.0f)), 0x80000000u);
  EXPECT_EQ(scale(1.5f, 3), 12.0f);
  EXPECT_EQ(scale(1.5f, 200), kInf);
  EXPECT_EQ(to_bits(scale(1.0f, -149)), 1u);
  EXPECT_EQ(to_bits(scale(1.5f, -149)), 2u) << "a tie goes to even";
}

TEST(Single, integers_truncate_and_saturate) {
  EXPECT_EQ(to_int<int16_t>(-1.9f), -1);
  EXPECT_EQ(to_int<int16_t>(40000.0f), 32767);
  EXPECT_EQ(to_int<int16_t>(-kInf), -32768);
  EXPECT_EQ(to_int<uint16_t>(-5.0f), 0);
  EXPECT_EQ(to_int<uint16_t>(65535.5f), 65535);
  EXPECT_EQ(to_int<int32_t>(2147483648.0f), INT32_MAX);
  EXPECT_EQ(to_int<int32_t>(-2147483648.0f), INT32_MIN);
  EXPECT_EQ(to_int<uint32_t>(4294967040.0f), 4294967040u);
  EXPECT_EQ(to_int<uint32_t>(4294967296.0f), UINT32_MAX);
  EXPECT_EQ(to_int<int32_t>(from_bits(kNanBits)), 0);
}

}  // namespace
}  // namespace cs::numerics

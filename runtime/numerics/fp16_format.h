// The 16-bit floating-point formats. A tile program uses one of them (--fp16-format).
//
//   f16   1 sign, 5 exponent, 10 mantissa bits, bias 15 (IEEE binary16)
//   bf16  1 sign, 8 exponent, 7 mantissa bits, bias 127
//   cb16  1 sign, 6 exponent, 9 mantissa bits, bias 42
#pragma once

#include <cstdint>

namespace cs {

enum class Fp16Format : uint8_t { f16, bf16, cb16 };
inline constexpr int kFp16Formats = 3;

}  // namespace cs

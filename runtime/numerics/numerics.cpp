// Conversions with the format chosen at run time; see half.h for what they compute.
#include "runtime/numerics/numerics.h"

#include "runtime/numerics/half.h"
#include "runtime/numerics/single.h"

namespace cs::numerics {
namespace {

constexpr std::string_view kNames[kFp16Formats] = {"f16", "bf16", "cb16"};

// Calls with the format as a template argument.
template <typename F>
auto with_format(Fp16Format format, F&& f) {
  switch (format) {
    case Fp16Format::bf16:
      return f(Half<Fp16Format::bf16>{});
    case Fp16Format::cb16:
      return f(Half<Fp16Format::cb16>{});
    default:
      return f(Half<Fp16Format::f16>{});
  }
}

}  // namespace

float half_to_float(uint16_t bits, Fp16Format format) {
  return with_format(format, [&](auto h) { return from_bits(decltype(h)::to_f32(bits)); });
}

uint16_t float_to_half(float value, Fp16Format format) {
  return with_format(format, [&](auto h) { return decltype(h)::from_f32(to_bits(value)); });
}

float half_max(Fp16Format format) {
  return with_format(format,
                     [&](auto h) { return from_bits(decltype(h)::to_f32(uint16_t(decltype(h)::kInf - 1))); });
}

std::string_view fp16_name(Fp16Format format) { return kNames[size_t(format)]; }

std::optional<Fp16Format> fp16_from_name(std::string_view name) {
  for (int i = 0; i < kFp16Formats; ++i)
    if (kNames[i] == name) return Fp16Format(i);
  return std::nullopt;
}

}  // namespace cs::numerics

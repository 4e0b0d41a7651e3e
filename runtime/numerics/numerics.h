// Conversions between the 16-bit formats and float with the format chosen at run time: for hosts, operators,
// printers. The arithmetic is in half.h and single.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/numerics/fp16_format.h"

namespace cs::numerics {

float half_to_float(uint16_t bits, Fp16Format);
uint16_t float_to_half(float, Fp16Format);  // nearest-even
float half_max(Fp16Format);                 // largest finite value
std::string_view fp16_name(Fp16Format);     // "f16"
std::optional<Fp16Format> fp16_from_name(std::string_view);

}  // namespace cs::numerics

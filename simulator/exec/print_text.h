// What PEs write to the simulator's log (<simprint>): numbers as text, and when a line ends.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/isa/config_space.h"
#include "runtime/numerics/fp16_format.h"

namespace cs::sim {

inline constexpr size_t kPrintLineBytes = 256;  // a line ends by itself when it has so many

std::string number_text(isa::ConfigReg how, uint32_t word, Fp16Format);

}  // namespace cs::sim

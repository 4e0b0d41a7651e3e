// Numbers as the log shows them.
#include "simulator/exec/print_text.h"

#include <fmt/format.h>

#include <bit>

#include "runtime/numerics/numerics.h"

namespace cs::sim {
namespace {

// The shortest text that reads back as the same number; whole ones with ".0".
std::string float_text(float v) {
  std::string text = fmt::format("{}", v);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::string number_text(isa::ConfigReg how, uint32_t word, Fp16Format format) {
  switch (how) {
    case isa::ConfigReg::print_dec32:
      return fmt::format("{}", word);
    case isa::ConfigReg::print_hex16:
      return fmt::format("{:04X}", word & 0xFFFF);
    case isa::ConfigReg::print_hex32:
      return fmt::format("{:08X}", word);
    case isa::ConfigReg::print_bin16:
      return fmt::format("{:016b}", word & 0xFFFF);
    case isa::ConfigReg::print_bin32:
      return fmt::format("{:032b}", word);
    case isa::ConfigReg::print_f16:
      return float_text(numerics::half_to_float(uint16_t(word), format));
    default:
      return float_text(std::bit_cast<float>(word));
  }
}

}  // namespace cs::sim

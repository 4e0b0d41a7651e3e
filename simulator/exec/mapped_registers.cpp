// Translation between the two layouts of a color's registers: the mapped one and that of
// runtime/isa/config_space.h.
#include "simulator/exec/mapped_registers.h"

namespace cs::sim {
namespace {

constexpr uint32_t kCounter = 2 * 0x7E00, kRoutes = 2 * 0x7F20, kSwitches = 2 * 0x7F40;
constexpr int kColors = 24;
constexpr uint16_t kInvalid = 5;
enum { kSwapY = 1 << 10, kSwapX = 1 << 11, kPopShift = 12, kTeardown = 1 << 14 };

// Sets of ports: east and west change places; the rest is in the same order.
uint16_t other_order(uint16_t ports) {
  return uint16_t((ports & 0x1C) | (ports & 1) << 1 | (ports >> 1 & 1));
}

bool is_switches(uint32_t address) { return address >= kSwitches; }

// A position that is not valid keeps its bit that says which side it would set.
uint16_t position_bits(uint16_t word) {
  const bool input = word & isa::kPositionRx;
  if (!(word & isa::kPositionValid)) return uint16_t(kInvalid | input << 3);
  const uint16_t ports = other_order(input ? word >> 5 & 31 : word & 31);
  uint16_t number = 0;
  while (number < 4 && !(ports >> number & 1)) ++number;
  return uint16_t(number | input << 3);
}

uint16_t position_word(uint16_t bits) {
  if ((bits & 7) >= kInvalid) return bits & 8 ? isa::kPositionRx : isa::kPositionTx;
  const uint16_t port = other_order(uint16_t(1u << (bits & 7)));
  return uint16_t(isa::kPositionValid | (bits & 8 ? isa::kPositionRx | port << 5 : isa::kPositionTx | port));
}

}  // namespace

int mapped_color(uint32_t address) {
  for (uint32_t base : {kRoutes, kSwitches})
    if (address >= base && address < base + 2 * kColors) return int(address - base) / 2;
  return -1;
}

std::optional<isa::ConfigReg> mapped_counter(uint32_t address) {
  constexpr isa::ConfigReg kRegisters[] = {isa::ConfigReg::tsc_enable, isa::ConfigReg::tsc_low,
                                           isa::ConfigReg::tsc_mid, isa::ConfigReg::tsc_high};
  if (address < kCounter || address >= kCounter + 2 * std::size(kRegisters)) return std::nullopt;
  return kRegisters[(address - kCounter) / 2];
}

uint16_t read_mapped(const ColorRegisters& color, uint32_t address) {
  const uint16_t mode = color.read(isa::ColorReg::mode);
  if (is_switches(address))
    return uint16_t(position_bits(color.read(isa::ColorReg::pos1)) |
                    position_bits(color.read(isa::ColorReg::pos2)) << 4 |
                    position_bits(color.read(isa::ColorReg::pos3)) << 8 | (mode >> 2 & 1) << 12 | (mode & 3) << 13);
  const uint16_t routes = color.read(isa::ColorReg::routes);
  uint16_t bits = uint16_t(other_order(routes & 31) | other_order(routes >> 5 & 31) << 5);
  bits |= uint16_t((mode >> 3 & 3) << kPopShift);
  if (color.swap_y) bits |= kSwapY;
  if (color.swap_x) bits |= kSwapX;
  return color.read(isa::ColorReg::teardown) ? uint16_t(bits | kTeardown) : bits;
}

bool write_mapped(const ColorRegisters& color, uint32_t address, uint16_t value) {
  const uint16_t mode = color.read(isa::ColorReg::mode);
  if (is_switches(address))
    return color.write(isa::ColorReg::pos1, position_word(value & 15)) &&
           color.write(isa::ColorReg::pos2, position_word(value >> 4 & 15)) &&
           color.write(isa::ColorReg::pos3, position_word(value >> 8 & 15)) &&
           color.write(isa::ColorReg::mode,
                       uint16_t((mode & 0x18) | (value >> 12 & 1) << 2 | (value >> 13 & 3)));
  return color.write(isa::ColorReg::routes,
                     uint16_t(other_order(value & 31) | other_order(value >> 5 & 31) << 5)) &&
         color.write(isa::ColorReg::mode, uint16_t((mode & 7) | (value >> kPopShift & 3) << 3)) &&
         color.write(isa::ColorReg::teardown, value & kTeardown ? 1 : 0);
}

}  // namespace cs::sim

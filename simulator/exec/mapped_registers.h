// Registers that the core of WSE-2 sees as memory: routes and switches of its router's colors.
//
// Word addresses 0x7F20 + color: bits 0-4 outputs (west, east, south, north, ramp), 5-9 inputs, 10 and 11 color swap
// along y and x, 12-13 pop mode, 14 in teardown. 0x7F40 + color: bits 0-2 position 1 (0 to 4 as the outputs, 5
// invalid), 3 it sets the input, 4-7 and 8-11 positions 2 and 3, 12 ring mode, 13-14 current position. The layout is
// that of comments in public programs, which keep the bits of the pop mode as they are; their numbers are ours.
//
// Programs of the first SDKs read and write the cycle counter in this way too, at addresses that `<tile_config>` names:
// 0x7E00 is its switch, 0x7E01 to 0x7E03 its words (ours).
#pragma once

#include <functional>
#include <optional>

#include "runtime/isa/config_space.h"

namespace cs::sim {

// The color whose registers a byte address belongs to, -1 if it is none of them.
int mapped_color(uint32_t address);
// The register of the cycle counter at a byte address.
std::optional<isa::ConfigReg> mapped_counter(uint32_t address);
// The same registers in the layout of config_space.h, however a router keeps them.
struct ColorRegisters {
  bool swap_x = false, swap_y = false;
  std::function<uint16_t(isa::ColorReg)> read;
  std::function<bool(isa::ColorReg, uint16_t)> write;  // false: the color has none
};
uint16_t read_mapped(const ColorRegisters&, uint32_t address);
bool write_mapped(const ColorRegisters&, uint32_t address, uint16_t value);

}  // namespace cs::sim

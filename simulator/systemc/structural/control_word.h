// The payload of a control wavelet (docs/timing.md §4): an entry point in bits 21:16, and eight commands of three bits
// as one string, the first eight bits of it in 22-29, the rest in 0-15.
#pragma once

#include <cstdint>

namespace cs::sim::structural {

enum class Command : uint8_t { nop, advance, reset, teardown };

struct ControlWord {
  uint32_t payload = 0;
  uint32_t commands() const { return (payload >> 22 & 0xFF) | (payload & 0xFFFF) << 8; }
  Command first() const { return Command(commands() & 3); }
  bool ignored() const { return commands() & 4; }  // NOCE: not for this router's core
  int entry_point() const { return int(payload >> 16 & 63); }
  uint32_t without_first() const {
    const uint32_t rest = commands() >> 3;
    return (payload & 0x3F0000) | (rest & 0xFF) << 22 | rest >> 8;
  }
};

}  // namespace cs::sim::structural

// PE memory as instructions see it: little-endian, 16-bit words, bytes for 8-bit accesses.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "simulator/exec/exec.h"

namespace cs::sim {

static_assert(std::endian::native == std::endian::little,
              "values are copied to and from PE memory as they are");

inline ExecFault check_access(uint32_t address, int bytes, const MemoryView& memory) {
  if (address < memory.low || address + uint32_t(bytes) > memory.end) return ExecFault::out_of_bounds;
  return bytes > 1 && address % 2 != 0 ? ExecFault::misaligned : ExecFault::none;
}

// `bytes` is 1, 2 or 4.
inline uint32_t load_bits(const uint8_t* p, int bytes) {
  if (bytes == 4) {
    uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
  }
  if (bytes == 1) return *p;
  uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}

inline void store_bits(uint8_t* p, int bytes, uint32_t value) {
  const uint16_t low = uint16_t(value);
  if (bytes == 4)
    std::memcpy(p, &value, 4);
  else if (bytes == 2)
    std::memcpy(p, &low, 2);
  else
    *p = uint8_t(value);
}

}  // namespace cs::sim

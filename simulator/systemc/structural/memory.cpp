// Segments of the tile program at cycle 0, everything else zero.
#include "simulator/systemc/structural/memory.h"

#include <algorithm>

namespace cs::sim::structural {

Memory::Memory(const TileProgram* p, const MemoryGuard* guard, int bytes) : bytes_(p ? size_t(bytes) : 0) {
  if (p == nullptr) return;
  for (const Segment& s : p->segments)
    if (s.address < bytes_.size())
      std::copy_n(s.bytes.begin(), std::min(s.bytes.size(), bytes_.size() - s.address), bytes_.begin() + s.address);
  if (guard->any_noinit()) unwritten_.start(*guard);
}

void Memory::read(uint32_t address, std::span<uint8_t> out) const {
  for (size_t i = 0; i < out.size(); ++i) out[i] = address + i < bytes_.size() ? bytes_[address + i] : uint8_t(0);
}

void Memory::write(uint32_t address, std::span<const uint8_t> in) {
  for (size_t i = 0; i < in.size() && address + i < bytes_.size(); ++i) bytes_[address + i] = in[i];
  if (!unwritten_.empty()) unwritten_.mark(address, int64_t(address) + int64_t(in.size()));
}

}  // namespace cs::sim::structural

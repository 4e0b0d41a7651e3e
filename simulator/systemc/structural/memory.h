// Memory: the bytes of one PE, and which of its words nothing has given a value yet.
#pragma once

#include <span>
#include <vector>

#include "runtime/machine/machine.h"
#include "simulator/exec/exec.h"
#include "simulator/exec/guard.h"

namespace cs::sim::structural {

class Memory {
 public:
  Memory(const TileProgram*, const MemoryGuard*, int bytes);

  uint32_t size() const { return uint32_t(bytes_.size()); }
  bool holds(int64_t from, int64_t to) const { return from >= 0 && to <= int64_t(bytes_.size()); }
  uint8_t* at(uint32_t address) { return bytes_.data() + address; }
  MemoryView view() { return MemoryView(bytes_); }
  // By the host: bytes beyond the memory are zero, or lost.
  void read(uint32_t address, std::span<uint8_t> out) const;
  void write(uint32_t address, std::span<const uint8_t> in);

  Unwritten& unwritten() { return unwritten_; }

 private:
  std::vector<uint8_t> bytes_;
  Unwritten unwritten_;
};

}  // namespace cs::sim::structural

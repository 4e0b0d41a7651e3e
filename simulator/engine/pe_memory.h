// PeMemory: the bytes of one PE that anybody has needed, those at addresses [low, end). What lies outside is
// what it was at cycle 0 and takes no room: code and what is reserved for the vendor's runtime are no data, and
// most programs need a part of 48 KB only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "simulator/exec/memory.h"

namespace cs::sim {

class PeMemory {
 public:
  bool empty() const { return bytes_ == nullptr; }
  uint32_t low() const { return low_; }
  uint32_t end() const { return end_; }
  uint32_t size() const { return end_ - low_; }
  bool holds(int64_t from, int64_t to) const { return from >= int64_t(low_) && to <= int64_t(end_); }
  // Of a held address.
  uint8_t* at(uint32_t address) { return bytes_.get() + (address - low_); }
  const uint8_t* at(uint32_t address) const { return bytes_.get() + (address - low_); }
  const uint8_t* data() const { return bytes_.get(); }
  MemoryView view() { return {bytes_.get(), low_, end_}; }

  void assign(uint32_t low, std::span<const uint8_t> bytes) {
    resize(low, low + uint32_t(bytes.size()));
    if (!bytes.empty()) std::memcpy(bytes_.get(), bytes.data(), bytes.size());
  }
  // Holds [from, to) too; what is new is zero.
  void cover(uint32_t from, uint32_t to) {
    if (!empty() && holds(from, to)) return;
    resize(empty() ? from : std::min(low_, from), empty() ? to : std::max(end_, to));
  }

 private:
  void resize(uint32_t low, uint32_t end) {
    auto bytes = std::make_unique<uint8_t[]>(std::max<size_t>(1, end - low));
    if (!empty()) std::memcpy(bytes.get() + (low_ - low), bytes_.get(), size());
    bytes_ = std::move(bytes);
    low_ = low;
    end_ = end;
  }

  std::unique_ptr<uint8_t[]> bytes_;
  uint32_t low_ = 0, end_ = 0;
};

}  // namespace cs::sim

// MemoryGuard: what of a tile's memory belongs together, and what nothing has a value for at cycle 0.
//
// An operation that starts inside a variable must stay inside it (`out-of-bounds`). A word of a variable that
// is declared as `undefined` must be written before it is read (`uninitialised-read`): by the program, or by the
// host. Everything else has a value: globals without one are zero, and public programs count on it; what is
// declared with one; frames; memory that no variable covers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/program/program.h"

namespace cs::sim {

class MemoryGuard {
 public:
  MemoryGuard() = default;
  explicit MemoryGuard(const TileProgram&);

  struct Span {
    uint32_t low = 0, high = 0x10000;  // bytes [low, high)
    const Section* section = nullptr;
  };
  // The variable at this address; all of memory if there is none.
  Span span_at(uint32_t address) const;

  // Words without a value at cycle 0 lie in [noinit_low, noinit_high), bytes; equal: there are none.
  uint32_t noinit_low() const { return noinit_low_; }
  uint32_t noinit_high() const { return noinit_high_; }
  bool any_noinit() const { return noinit_low_ < noinit_high_; }
  // A bit per word of that range, set where there is no value.
  const std::vector<uint64_t>& unwritten() const { return unwritten_; }

 private:
  std::vector<Span> spans_;  // variables in address order
  uint32_t noinit_low_ = 0, noinit_high_ = 0;
  std::vector<uint64_t> unwritten_;
};

// The words of one PE that have no value yet; empty if all have.
class Unwritten {
 public:
  bool empty() const { return bits_ == nullptr; }
  void start(const MemoryGuard& guard) {
    low_ = guard.noinit_low();
    high_ = guard.noinit_high();
    make();
    std::copy_n(guard.unwritten().begin(), words(), bits_.get());
  }
  // The first byte address in [low, high) of a word without a value, or -1.
  int64_t find(int64_t low, int64_t high) const;
  void mark(int64_t low, int64_t high);  // [low, high) is written
  uint64_t bytes() const { return empty() ? 0 : words() * sizeof(uint64_t); }
  bool touches(int64_t low, int64_t high) const { return low < int64_t(high_) && high > int64_t(low_); }
  // For a checkpoint: what start() has made, as words of bits.
  std::span<uint64_t> all() { return {bits_.get(), empty() ? 0 : words()}; }

 private:
  size_t words() const { return (high_ - low_ + 127) / 128; }
  void make() { bits_ = std::make_unique<uint64_t[]>(words()); }
  std::unique_ptr<uint64_t[]> bits_;
  uint32_t low_ = 0, high_ = 0;
};

}  // namespace cs::sim

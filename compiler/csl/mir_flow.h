// Control flow of MIR code: basic blocks, which registers are live, loops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/csl/mir_code.h"

namespace cs::csl::mir {

struct Block {
  uint32_t first = 0, last = 0;  // lines [first, last)
  std::vector<uint32_t> successors, predecessors;
};

// Blocks begin at labels that a jump names and behind jumps.
std::vector<Block> find_blocks(const Code&);

// The blocks from which a block is reached again without passing it, itself among them; none if it is in no
// loop. What is known behind all blocks before it holds at its start, but for what these change. nullopt:
// nothing is known there, as the function begins, or a loop is entered elsewhere.
std::optional<std::vector<uint32_t>> find_around(const std::vector<Block>&, uint32_t b);

// One bit per register.
class RegisterSet {
 public:
  RegisterSet() = default;
  explicit RegisterSet(int registers) : words_((size_t(registers) + 63) / 64) {}
  bool has(int r) const {  // none beyond the number that it was made for
    return size_t(r) / 64 < words_.size() && (words_[size_t(r) / 64] >> (size_t(r) % 64) & 1);
  }
  void add(int r) { words_[size_t(r) / 64] |= uint64_t(1) << (size_t(r) % 64); }
  void remove(int r) { words_[size_t(r) / 64] &= ~(uint64_t(1) << (size_t(r) % 64)); }
  bool merge(const RegisterSet& other);  // true if it grew
  int count() const;
  int count_of(const RegisterSet& among) const;  // those in both

 private:
  std::vector<uint64_t> words_;
};

struct Liveness {
  std::vector<RegisterSet> in, out;  // by block
};
Liveness find_live(const MirFunction&, const Code&, const std::vector<Block>&);
// `live` behind a line becomes what is live before it.
void step_back(const MirFunction&, const Line&, RegisterSet& live);

// Lines [top, back] that end with a conditional jump to `top` and are entered there alone, from the line
// before.
struct Loop {
  uint32_t top = 0, back = 0;
  bool innermost = false;
  bool single_exit = false;  // left behind `back` alone
};
std::vector<Loop> find_loops(const Code&);
// Some path through the loop does not come to a line of it.
bool is_skipped(const Code&, const Loop&, uint32_t line);
// At most so many 16-bit registers hold values at one line of the loop.
int registers_in_use(const MirFunction&, const Code&, const Loop&);

}  // namespace cs::csl::mir

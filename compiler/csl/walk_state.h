// Registers and memory of a walk: 16-bit registers and bytes, each known or not, and what scalar instructions
// do to them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/csl/walk.h"
#include "runtime/isa/dsd.h"

namespace cs::csl {

class WalkState {
 public:
  WalkState(const TileProgram&, const Machine&, const WalkOptions&);

  using Value = std::optional<uint32_t>;
  // A literal, register or pair, read with so many bytes.
  Value read(const isa::Operand&, int bytes) const;
  void write(const isa::Operand&, Value);  // a register or a pair
  void forget(const isa::Operand& o) { write(o, std::nullopt); }
  // All instructions whose operands are registers but jumps and configuration registers.
  void scalar(const isa::Inst&);

  Value load(uint32_t address, int bytes);
  void store(uint32_t address, int bytes, Value);
  // Nothing is known of these bytes from now on.
  void forget(uint32_t address, uint32_t bytes);
  // A descriptor in memory; `known` says whether all of it is.
  isa::Dsd load_descriptor(uint32_t address, bool& known);

  // Where a program has read, and what is there as long as none has run.
  WalkAsked asked() const;
  Value at_start(uint32_t address) const { return look(address, 1); }
  isa::Dsd descriptor(uint32_t address, bool& known) const;

  // A number for what the program has written so far and is known, for recognising where it has been before.
  uint64_t signature() const;

 private:
  static constexpr uint32_t kBytes = 1 << 16;
  enum Asked : uint8_t { byte = 1, descriptor_begins = 2 };
  Value look(uint32_t address, int bytes) const;
  void memory_access(const isa::Inst&, const isa::Row&);

  std::vector<uint8_t> bytes_, known_;
  std::vector<uint32_t> touched_;  // even addresses that scalar instructions have written, each once
  std::vector<uint8_t> is_touched_;
  std::vector<uint8_t> asked_;  // Asked, by address
  std::array<uint16_t, 64> r_{};
  std::array<bool, 64> r_known_{};
};

}  // namespace cs::csl

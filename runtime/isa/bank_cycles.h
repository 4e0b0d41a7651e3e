// What memory banks add to an element group (docs/timing.md §6), for the engine and for walks over tile code.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/machine/machine.h"

namespace cs::isa {

// An operand of a vector instruction: where its first element lies and the stride, in bytes. Not in memory,
// or always the same element: `step` 0.
struct BankWalk {
  int32_t address = 0, step = 0;
};

// Cycles of a group that takes `cycles` without conflicts, of which the memory needs `reading` for what is
// read and `moving` in all.
inline int with_banks(const Machine::Core& core, const BankWalk& dst, const BankWalk& a, const BankWalk& b,
                      int reading, int moving, int cycles) {
  const auto bank = [&](const BankWalk& w) { return w.address / core.bank_bytes % core.memory_banks; };
  const auto meet = [&](const BankWalk& x, const BankWalk& y) {
    return x.step != 0 && y.step != 0 && (bank(x) - bank(y)) % core.bank_conflict_modulo == 0;
  };
  // Reads that take more than a cycle as it is have every bank to themselves in turn.
  if (reading <= 1 && meet(a, b)) cycles *= std::max(1, core.bank_conflict_factor);
  // A destination whose stride stays in one bank and a source that stays in the same one take turns.
  const auto stays = [&](const BankWalk& w) {
    return w.step % (core.bank_bytes * core.bank_conflict_modulo) == 0;
  };
  if (stays(dst) && ((stays(a) && meet(dst, a)) || (stays(b) && meet(dst, b)))) cycles += moving;
  return cycles;
}

}  // namespace cs::isa

// Costs of code as it is written.
#include "compiler/csl/walk_ways.h"

#include <algorithm>

#include "runtime/isa/scalar_cycles.h"

namespace cs::csl {

using isa::Op;

namespace {

constexpr int kDeep = 4;  // calls within calls

bool returns(const isa::Inst& inst) {
  return inst.op == Op::jv || inst.op == Op::yield ||
         (inst.op == Op::jmp && inst.args[0].value == isa::kReturnToScheduler);
}

}  // namespace

WalkWays::WalkWays(const TileProgram& tile, const Machine& machine) : tile_(tile), core_(machine.core) {
  for (const TaskBinding& t : tile.tasks) entries_.push_back(t.entry);
  for (const Function& f : tile.functions) entries_.push_back(f.entry);
  for (const isa::Inst& inst : tile.code)
    if (inst.op == Op::jal) entries_.push_back(uint32_t(inst.args[1].value));
  entries_.push_back(uint32_t(tile.code.size()));
  std::sort(entries_.begin(), entries_.end());
}

uint32_t WalkWays::end_of_function(uint32_t at) const {
  const auto next = std::upper_bound(entries_.begin(), entries_.end(), at);
  return next == entries_.end() ? uint32_t(tile_.code.size()) : *next;
}

uint64_t WalkWays::cost(uint32_t from, uint32_t to, int depth) const {
  uint64_t sum = 0;
  for (uint32_t i = from; i < to && i < tile_.code.size(); ++i) {
    const isa::Inst& inst = tile_.code[i];
    const isa::Row& row = isa::row(inst.op);
    sum += uint64_t(row.cost == isa::Cost::jump ? core_.jump_taken_cycles
                    : inst.is_vector()          ? core_.dsr_load_use_cycles + core_.dsd_start_cycles
                                                : isa::scalar_cycles(inst, core_).next);
    const auto entry = uint32_t(inst.args[1].value);
    if (inst.op == Op::jal && depth < kDeep) sum += cost(entry, end_of_function(entry), depth + 1);
  }
  return sum;
}

bool WalkWays::other_is_dearer(uint32_t branch, uint32_t target) const {
  if (target <= branch + 1 || target > tile_.code.size()) return false;
  const isa::Inst& last = tile_.code[target - 1];
  // Where both ways meet again: behind the jump over the other one, or at the end.
  uint32_t meet = target;
  if (returns(last))
    meet = end_of_function(branch);
  else if (last.op == Op::jmp)
    meet = std::max(target, uint32_t(last.args[0].value));
  return cost(target, std::min<uint32_t>(meet, uint32_t(tile_.code.size()))) > cost(branch + 1, target);
}

}  // namespace cs::csl

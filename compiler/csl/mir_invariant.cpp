// Pass `invariants`: what a loop computes or loads again and again, with the same result, is done once before
// it.
//
// A register that one line of the loop writes, and that nothing reads before, holds the same value in every
// trip if the line's operands do. Loads move if nothing in the loop may write what they read. As many move as
// registers are left.
#include <algorithm>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Hoist {
 public:
  Hoist(Context& c, MirFunction& f, Code& code, const Loop& loop)
      : c_(c), f_(f), code_(code), loop_(loop), carries_(reads_carry(code)) {
    c_.reached.see(f, code);
    writes_.assign(size_t(code.next_virtual), 0);
    for (uint32_t i = loop.top; i <= loop.back; ++i)
      for_each_register(f, code.lines[i], [&](const Operand& o, bool, bool written) {
        if (written && writes_[size_t(o.value)] < 2) ++writes_[size_t(o.value)];
      });
    const std::vector<Block> blocks = find_blocks(code);
    const Liveness live = find_live(f, code, blocks);
    at_top_ = RegisterSet(code.next_virtual);
    for (size_t b = 0; b < blocks.size(); ++b)
      if (blocks[b].first == loop.top) at_top_ = live.in[b];
    used_ = registers_in_use(f, code, loop);
  }

  bool run() {
    std::vector<bool> moved(code_.lines.size());
    std::vector<Line> before;
    for (bool more = true; more;) {
      more = false;
      for (uint32_t i = loop_.top; i < loop_.back; ++i) {
        if (moved[i] || !moves(i)) continue;
        moved[i] = more = true;
        before.push_back(code_.lines[i]);
        writes_[size_t(code_.lines[i].inst.args[0].value)] = 0;
      }
    }
    if (before.empty()) return false;
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i == loop_.top)
        for (const Line& line : before) edit.push(line);
      if (moved[i]) continue;
      edit.begin(i);
      edit.push(code_.lines[i]);
    }
    edit.finish();
    return true;
  }

 private:
  bool moves(uint32_t i) {
    const isa::Inst& inst = code_.lines[i].inst;
    const bool load = is_load(inst.op);
    if (!load && !is_value(inst, carries_)) return false;
    const Operand& dst = inst.args[0];
    if (!is_virtual(dst) || writes_[size_t(dst.value)] != 1 || at_top_.has(dst.value)) return false;
    bool same = true, any = false;
    for (size_t k = 1; k < inst.args.size(); ++k) {
      if (!is_register(inst.args[k])) continue;
      any = true;
      same = same && writes_[size_t(inst.args[k].value)] == 0;
    }
    // A literal costs nothing where it is used; a division takes long enough not to be done for nothing.
    if (!same || (!any && !load) || (cost(inst.op) == isa::Cost::divide && skipped(i))) return false;
    if (load && !keeps(i)) return false;
    const int units = dst.kind == OperandKind::pair ? 2 : 1;
    const int room = c_.machine.core.registers - 1;
    if (used_ + units > room) return false;
    used_ += units;
    return true;
  }

  // What a load reads is the same in every trip, and it may be read even if the line is not reached.
  bool keeps(uint32_t i) {
    const auto index = [](const Operand& o) { return int64_t(o.value); };
    const isa::Inst& load = code_.lines[i].inst;
    const Place p = place_of(load.args[1], load.args[2], access_bytes(load.op), index);
    if (p.kind == Place::Kind::fixed || (p.kind != Place::Kind::variable && skipped(i))) return false;
    // An asynchronous operation may be what the loop waits for.
    if (is_reached(p, c_.reached) && !is_constant(p)) return false;
    if (p.symbol.kind == OperandKind::global && skipped(i) && c_.tile.globals[size_t(p.symbol.value)].noinit)
      return false;
    if (p.symbol.kind == OperandKind::slot && skipped(i)) return false;
    for (uint32_t k = loop_.top; k <= loop_.back; ++k) {
      const Line& line = code_.lines[k];
      const isa::Inst& inst = line.inst;
      if (line.call >= 0 || inst.op == Op::stcfg16) return false;
      if (is_store(inst.op)) {
        const Place to = place_of(inst.args[0], inst.args[1], access_bytes(inst.op), index);
        if (meets(p, to)) return false;
      }
      if (inst.is_vector() && !c_.outlives_vector(p)) return false;
    }
    return true;
  }

  bool is_constant(const Place& p) const {
    return p.symbol.kind == OperandKind::global && c_.tile.globals[size_t(p.symbol.value)].constant;
  }

  // Registers that the loop changes name other places in every trip.
  bool meets(const Place& p, Place to) const {
    if (to.index >= 0 && writes_[size_t(to.index)] > 0) to.index = -2;
    return may_meet(p, to, c_.reached);
  }

  bool skipped(uint32_t line) const { return is_skipped(code_, loop_, line); }

  Context& c_;
  MirFunction& f_;
  Code& code_;
  const Loop loop_;
  const bool carries_;
  std::vector<uint8_t> writes_;  // by register, in the loop
  RegisterSet at_top_;
  int used_ = 0;
};

}  // namespace

bool hoist_invariants(Context& c, MirFunction& f, Code& code) {
  bool changed = false;
  // Inner loops first: what leaves them may leave the next one too.
  for (size_t k = 0; k < find_loops(code).size(); ++k)
    changed |= Hoist(c, f, code, find_loops(code)[k]).run();
  return changed;
}

}  // namespace cs::csl::mir

// Running ahead of the block's time, and back.
//
// Ahead: the main thread may use the cycles before the first one in which a microthread of the core could
// touch memory or compete for the datapath. An operation that waits for wavelets cannot before one has
// departed to the ramp (next cycle) and crossed it. A memory operation whose groups leave the datapath no gap
// goes on until a microthread of no lower priority can act: the others would not get the datapath anyway.
//
// Back: while the host may stop the run at any cycle (World::watched), the core first notes its state and
// logs what it overwrites; only instructions that leave nothing else behind run ahead then. At a stop,
// rewind() restores all of it and runs the instructions again up to the stop. So what the host reads is the
// same as without running ahead.
// A run that ends when the last command stream is given back (World::commands_watched) cannot end before a
// core has given back its own, which it does in the very cycle: until then it needs no way back. But an
// operation retires before its last groups: if others may see what the main thread does while they are still to
// come, it waits for them (Decoded::seen_after).

#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/engine/core.h"

namespace cs::sim {

// The first cycle in which a microthread could act.
Cycle Core::ahead_limit() const {
  Cycle limit = is_watched() ? world_.near_horizon : world_.horizon;
  for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1)
    limit = std::min(limit, may_act_at(*pe_.ops[size_t(std::countr_zero(rest))]));
  return limit;
}

// Before this cycle the operation of a microthread has no group.
Cycle Core::may_act_at(const VectorOp& op) const {
  const bool starved = op.waits && op.why == Stall::input;
  return starved ? now_ + 1 + Cycle(world_.machine.ramp.down_cycles) : std::max(op.next, now_ + 1);
}

bool Core::can_issue_at(Cycle t) {
  if (t <= now_) return true;
  if (!world_.run_ahead || t >= ahead_limit()) return false;
  return !is_watched() || may_run_ahead(t);
}

// Watched: scalars, jumps, DSR loads and operations on memory alone, from a state that is remembered.
bool Core::may_run_ahead(Cycle t) {
  if (pe_.pc >= pe_.tile->code.size() || !can_go_back()) return false;
  const isa::Inst& inst = pe_.tile->program->code[pe_.pc];
  switch (pe_.tile->code[pe_.pc].kind) {
    case InstKind::scalar:
      if (is_mapped_access(inst, pe_.tile->code[pe_.pc])) return false;
      break;
    case InstKind::load_dsr:
      break;
    case InstKind::jump:
      for (const isa::Operand& o : inst.args)
        if (o.kind == isa::OperandKind::label && o.value == isa::kReturnToScheduler) return false;
      if (inst.op == isa::Op::jv && value16(inst.args[0]) == uint16_t(isa::kReturnToScheduler)) return false;
      break;
    case InstKind::vector:
      for (const isa::Operand& o : inst.args)
        if (o.is_dsr() && (dsr(o).dsd.unpacked().is_fabric() || dsr(o).dsd.kind() == isa::DsdKind::fifo ||
                           dsr(o).config().async))
          return false;
      break;
    default:
      return false;
  }
  if (!logging_) remember();
  pe_.ahead->until = std::max(pe_.ahead->until, t + 1);
  return true;
}

// A microthread that a control wavelet may end at any time changes what cannot be restored.
bool Core::can_go_back() const {
  for (uint32_t rest = pe_.active & kMicrothreads; rest != 0; rest &= rest - 1)
    if (pe_.ops[size_t(std::countr_zero(rest))]->config.on_control != isa::DsrConfig::OnControl::none)
      return false;
  if (logging_) return pe_.ahead->old.size() < Ahead::kMostBytes;
  return !is_ahead() && block_.ways_back.available(pe_, now_);
}

// The main thread stands still until what it did ahead of time has become the present.
Cycle Core::ahead_until() const {
  if (!world_.watched && !world_.commands_watched) return 0;
  return std::max(pe_.still_until, pe_.ahead ? pe_.ahead->until : 0);
}

// What it does ahead of time may have to be taken back.
bool Core::is_watched() const { return world_.watched || logging_ || (world_.commands_watched && !stream_is_taken()); }

// How far a memory operation of the main thread may be taken now.
Cycle Core::memory_op_limit(const VectorOp& op, bool watched) const {
  if (!world_.run_ahead || (watched && !can_go_back())) return now_ + 1;
  Cycle limit = watched ? world_.near_horizon : world_.horizon;
  if ((pe_.active & kMicrothreads) == 0) return limit;
  // What lies before op.next or between groups is nobody's: a microthread may use the datapath there.
  const bool gaps = (op.group_cycles > 1 || op.drag != 0) && !op.holds_datapath;
  if (gaps || op.next > now_) return now_ + 1;
  for (uint32_t rest = pe_.active & kMicrothreads; rest != 0; rest &= rest - 1) {
    const VectorOp& other = *pe_.ops[size_t(std::countr_zero(rest))];
    if (other.rank >= op.rank) limit = std::min(limit, may_act_at(other));
  }
  return limit;
}

void Core::remember() {
  Ahead& a = block_.ways_back.take(pe_, now_);
  a.until = now_ + 1;
  a.main = pe_;
  a.active = (pe_.active >> kMainThread & 1) != 0;
  if (a.active) a.op = *pe_.ops[kMainThread];
  a.undo.clear();
  a.old.clear();
  logging_ = true;
}

void Core::log_memory(uint32_t address, uint32_t bytes) {
  if (!grow_memory(address, address + bytes)) return;
  Ahead& a = *pe_.ahead;
  a.undo.push_back({address, bytes});
  a.old.insert(a.old.end(), pe_.memory.at(address), pe_.memory.at(address) + bytes);
}

void Core::log_vector(const VectorOp& op, uint32_t count) {
  const Cursor& c = op.dst;
  if (c.kind != Cursor::Kind::memory) return;
  int64_t first = c.address, last = first + int64_t(c.step) * (count - 1);
  int64_t low = std::max<int64_t>(0, std::min(first, last)), high = std::max(first, last) + c.bytes;
  high = std::min(high, int64_t(pe_.memory.end()));
  if (high > low) log_memory(uint32_t(low), uint32_t(high - low));
}

void Core::rewind() {
  Ahead& a = *pe_.ahead;
  size_t end = a.old.size();
  for (size_t i = a.undo.size(); i-- > 0;) {
    end -= a.undo[i].bytes;
    std::memcpy(pe_.memory.at(a.undo[i].address), a.old.data() + end, a.undo[i].bytes);
  }
  block_.instructions -= pe_.stats.instructions - a.main.stats.instructions;
  static_cast<MainState&>(pe_) = a.main;
  pe_.active = (pe_.active & kMicrothreads) | uint32_t(a.active) << kMainThread;
  if (a.active) {
    if (pe_.ops[kMainThread] == nullptr) pe_.ops[kMainThread] = block_.ops.take();
    *pe_.ops[kMainThread] = a.op;
  }
  pe_.tasks_changed = true;
  a.until = 0;
  if (pe_.active >> kMainThread & 1 && !pe_.ops[kMainThread]->fabric) run_memory_op(*pe_.ops[kMainThread]);
  run_main();
  sleep();
}

}  // namespace cs::sim

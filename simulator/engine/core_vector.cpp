// Vector operations: issue, one element group per cycle, retirement.
//
//   issue    cursors for the operands from their DSRs, group size and cycles (docs/timing.md §6), thread,
//   queues groups   run_datapath picks among the threads whose operands are there; operations of the main
//   thread on memory
//            alone run many groups at once when no microthread is active (run_memory_op)
//   retire   with x the cycle of the last group, at x + 1 - dsd_start: then the thread goes on and completion
//   events
//            happen. That is before x, but nothing of it can act before x + 1 - dsd_start + task_start or the
//            next operation's first group, so it is enough to know it at x.

#include <algorithm>
#include <bit>

#include "runtime/isa/dsr_merge.h"
#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

// Cycles that the next `groups` groups take.
uint64_t span_of(const VectorOp& op, uint64_t groups) {
  return groups * op.group_cycles + ((op.dragged + groups * op.drag) >> 16);
}

// Groups that begin within `cycles` from op.next on.
uint64_t groups_within(const VectorOp& op, Cycle cycles) {
  if (op.drag == 0) return (cycles + op.group_cycles - 1) / op.group_cycles;
  const uint64_t period = (uint64_t(op.group_cycles) << 16) + op.drag;
  const uint64_t room = (std::min<uint64_t>(cycles, uint64_t(1) << 40) << 16) - op.dragged;
  return (room + period - 1) / period;
}

void charge(VectorOp& op, uint64_t groups) { op.dragged = uint16_t(op.dragged + groups * op.drag); }

}  // namespace

bool Core::issue_vector(const isa::Inst& inst, const Decoded& d, Cycle t) {
  if (d.element == nullptr || d.element->fn == nullptr || !d.element->vector) {
    raise("illegal-instruction", t, pe_.pc, "not a vector instruction: " + isa::print(inst));
    return false;
  }
  VectorOp op;
  op.inst = pe_.pc;
  op.element = d.element;
  op.flops = d.flops;
  op.half = d.half;
  op.reduction = d.reduction;
  op.issued = t;
  op.next = t + Cycle(std::max(1, world_.machine.core.dsd_start_cycles));
  bool first = true;
  for (size_t i = 0; i < 3; ++i) {
    if (!inst.args[i].is_dsr()) continue;
    const isa::DsrConfig config = dsr(inst.args[i]).config();
    op.config = first ? config : isa::merge(op.config, config);
    first = false;
  }
  if (!make_operands(op, inst, d)) return false;
  op.sync = !op.config.async;
  const int thread = op.sync ? kMainThread : microthread_of(op);
  if (!op.sync && !check_id(thread, world_.machine.core.microthreads, "a microthread", t)) return false;
  if (pe_.active >> thread & 1) {
    pe_.waits_thread = true;
    pe_.wanted_thread = uint8_t(thread);
    return false;
  }
  set_group(op, inst, d);
  if (!claim_queues(op, thread, t)) return false;
  op.rank = rank_of(op, thread);
  account_gap(t, int(Stall::dependency), -1, -1, pe_.pc);
  account_busy(t);
  if (world_.details) [[unlikely]]
    world_.details->work({pe_.at, t, t + 1, pe_.pc, -1, pe_.task});
  ++pe_.stats.instructions;
  ++block_.instructions;
  ++pe_.pc;
  pe_.next_index = 0;
  pe_.ready = t + Cycle(std::max(1, world_.machine.core.issue_cycles));
  VectorOp*& slot = pe_.ops[size_t(thread)];
  if (slot == nullptr) slot = block_.ops.take();
  *slot = std::move(op);
  pe_.active |= 1u << thread;
  if (op.total == 0)
    retire(thread, t + Cycle(world_.machine.core.dsd_start_cycles) - 1);
  else if (op.sync && !op.fabric)
    run_memory_op(*slot);
  return true;
}

// ---- groups

void Core::run_datapath() {
  int best = -1;
  for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1) {
    int thread = std::countr_zero(rest);
    VectorOp& op = *pe_.ops[size_t(thread)];
    if (op.next > now_ || (thread < kMainThread && (pe_.threads_blocked >> thread & 1))) continue;
    if (!group_ready(op, thread)) continue;
    if (pe_.datapath_free > now_) continue;
    if (best >= 0) {
      const VectorOp& other = *pe_.ops[size_t(best)];
      if (op.rank < other.rank || (op.rank == other.rank && op.served >= other.served)) continue;
    }
    best = thread;
  }
  if (best >= 0) execute_group(*pe_.ops[size_t(best)], best);
}

bool Core::group_ready(VectorOp& op, int thread) {
  op.waits = false;
  op.waits_queue = op.waits_fifo = -1;
  if (op.a.kind == Cursor::Kind::fabin && !input_ready(op, thread, op.a)) return false;
  if (!(pe_.active >> thread & 1)) return false;  // a control wavelet ended it
  if (op.b.kind == Cursor::Kind::fabin && !input_ready(op, thread, op.b)) return false;
  if (!(pe_.active >> thread & 1)) return false;
  for (const Cursor* c : {&op.a, &op.b})
    if (is_fifo(*c) && !fifo_ready(op, thread, *c, false)) return false;
  if (is_fifo(op.dst) && !fifo_ready(op, thread, op.dst, true)) return false;
  return op.dst.kind != Cursor::Kind::fabout || output_ready(op, op.dst);
}

bool Core::input_ready(VectorOp& op, int thread, Cursor& c) {
  InputQueue& q = pe_.inputs[c.queue];
  op.why = Stall::input;
  op.waits_queue = int8_t(q.id);  // 0xFF: -1
  if (q.count == 0 && c.half == 0) {
    op.waits = true;
    return false;
  }
  if (c.half != 0) return true;
  Entry w = q.front();
  Cycle age = entry_age(w, now_), down = Cycle(world_.machine.ramp.down_cycles);
  if (age < down) {
    op.next = now_ + down - age;
    return false;
  }
  if (q.messages && q.message_left == 0) [[unlikely]] return drop_header(op, c);
  if (c.drops) return drop_element(op, thread, c, (w & kEntryControl) != 0);
  return !(w & kEntryControl) || c.transform || take_control(op, thread, c);
}

// @dfilt: takes one wavelet per cycle without the datapath; control wavelets are its elements.
bool Core::drop_element(VectorOp& op, int thread, Cursor& c, bool control) {
  pop_input(c.queue);
  op.next = now_ + 1;
  if (!control || ++op.done < op.total) return false;
  op.stopped = true;
  retire(thread, now_);
  return false;
}

// A control wavelet at the head of a queue that an operation reads. Without on_control the scheduler may have
// it if a task is bound and not blocked; if not, the operation drops it.
bool Core::take_control(VectorOp& op, int thread, Cursor& c) {
  InputQueue& q = pe_.inputs[c.queue];
  op.next = now_ + 1;
  if (op.config.on_control == isa::DsrConfig::OnControl::none) {
    int entry = control_task_of(q, q.front());
    bool bound =
        pe_.tile->control_task[size_t(entry)] >= 0 && q.task_id >= 0 && !(pe_.blocked >> q.task_id & 1);
    if (!bound || thread == kMainThread) pop_input(c.queue);
    return false;
  }
  pop_input(c.queue);
  isa::DsrConfig::OnControl action = op.config.on_control;
  int task = op.config.on_control_task;
  if (action != isa::DsrConfig::OnControl::terminate) op.config.activate = op.config.unblock = -1;
  retire(thread, now_);
  if (action == isa::DsrConfig::OnControl::activate) activate(task, now_);
  if (action == isa::DsrConfig::OnControl::unblock) unblock(task, now_);
  return false;
}

// Room as of the start of the cycle: an entry freed in it does not count. An output queue holds words of one
// color; those of the color before must have reached its lane.
bool Core::output_ready(VectorOp& op, Cursor& c) {
  op.why = Stall::output;
  op.waits_queue = int8_t(c.queue);
  const Machine& m = world_.machine;
  int depth = m.router.lane_depth_wavelets;
  int8_t& last = pe_.output_last[c.queue];
  if (last >= 0 && last != int8_t(c.color))
    if (ColorNode* n = block_.find_node(pe_.index, last)) {
      Lane& before = block_.lanes[block_.lane_of(*n, Port::ramp)];
      if (before.count > depth) {
        before.flags |= Lane::core_waits;
        op.waits = true;
        return false;
      }
      if (taken_at_start(before) > depth) {
        op.next = now_ + 1;
        return false;
      }
    }
  Lane& l = block_.lanes[c.lane()];
  int words = c.queue < m.queues.output_words.size() ? m.queues.output_words[c.queue] : 1;
  int limit = std::min(words + depth, int(l.capacity));
  int taken = taken_at_start(l);
  if (taken < limit) {
    last = int8_t(c.color);
    return true;
  }
  if (l.count < limit) {
    op.next = now_ + 1;
  } else {
    l.flags |= Lane::core_waits;
    op.waits = true;
  }
  return false;
}

void Core::retire(int thread, Cycle last_group) {
  VectorOp& op = *pe_.ops[size_t(thread)];
  Cycle start = Cycle(std::max(1, world_.machine.core.dsd_start_cycles));
  Cycle at = std::max(op.issued + 1, last_group + 1 >= start ? last_group + 1 - start : 0);
  pe_.active &= ~(1u << thread);
  for (Cursor* c : {&op.a, &op.b})
    if (c->kind == Cursor::Kind::fabin) pe_.inputs[c->queue].readers &= ~(1u << thread);
  if (op.config.save_address) save_addresses(op);
  if (op.config.single_step) step_registers(op);
  if (op.dst.kind == Cursor::Kind::reg && !op.stopped) {
    const isa::Operand& o = pe_.tile->program->code[op.inst].args[0];
    if (o.kind == isa::OperandKind::pair)
      pe_.regs.set_pair(o.value, op.dst.value);
    else
      pe_.regs.r[size_t(o.value)] = uint16_t(op.dst.value);
    set_result(pe_.tile->code[op.inst], at);
  }
  if (op.config.activate >= 0) activate(op.config.activate, at, last_group);
  if (op.config.unblock >= 0) unblock(op.config.unblock, at, last_group);
  if (thread == kMainThread) {
    pe_.last_group = last_group;
    pe_.ready = std::max(pe_.ready, at);
  } else {
    if (world_.trace) world_.trace->task({pe_.at, op.issued, last_group + 1, -1, -1, thread, op.inst});
    if (pe_.waits_thread && pe_.wanted_thread == thread) {
      pe_.waits_thread = false;
      pe_.ready = std::max(pe_.ready, at);
    }
  }
  block_.ops.give(pe_.ops[size_t(thread)]);
}

// Operations on memory alone: all groups up to the limit in one go.
void Core::run_memory_op(VectorOp& op) {
  const int tail = world_.machine.core.dsd_start_cycles;  // it retires so many cycles before its last group is over
  const bool watched = is_watched();
  const bool still = !watched && world_.commands_watched && pe_.tile->code[op.inst].seen_after < tail;
  Cycle limit = memory_op_limit(op, watched);
  if (op.next >= limit || pe_.datapath_free > op.next) return;
  if (limit > now_ + 1 && watched && !logging_) remember();
  uint64_t left = (op.total - op.done + op.group - 1) / op.group;
  uint64_t groups = std::min<uint64_t>(left, groups_within(op, limit - op.next));
  uint32_t count = uint32_t(std::min<uint64_t>(op.total - op.done, groups * op.group));
  if (!run_memory_fast(op, count) && !run_memory_rows(op, count)) execute_elements(op, count);
  if (faulted_) return;
  account_groups(op, groups);
  count_elements(op, count);
  Cycle last = op.next + span_of(op, groups) - 1;
  charge(op, groups);
  op.next = last + 1;
  op.why = Stall::dependency;
  const bool gaps = (op.group_cycles > 1 || op.drag != 0) && !op.holds_datapath;  // others may use the datapath there
  if (!gaps && (op.holds_datapath || last > now_)) pe_.datapath_free = last + 1;
  if (logging_) pe_.ahead->until = std::max(pe_.ahead->until, last + 1);
  if (still) pe_.still_until = std::max(pe_.still_until, last + 1);
  if (op.done == op.total) retire(kMainThread, last);
}

void Core::count_elements(VectorOp& op, uint32_t count) {
  pe_.stats.elements += count;
  pe_.stats.flops += uint64_t(count) * op.flops;
  if (op.half) pe_.stats.half_flops += uint64_t(count) * op.flops;
  pe_.stats.memory_bytes += uint64_t(count) * op.memory_bytes;
  op.done += count;
}

// Groups of several cycles: busy while the memory reads and writes them, the rest waits for the banks or for
// the sum.
void Core::account_groups(const VectorOp& op, uint64_t groups) {
  const uint64_t work = groups * op.work_cycles;
  account_gap(op.next, int(Stall::dependency), -1, -1, op.inst);
  account_busy(op.next, Work::memory, work);
  if (world_.details) [[unlikely]]
    world_.details->work({.pe = pe_.at, .begin = op.next, .end = op.next + work, .inst = op.inst, .task = pe_.task,
                          .what = Work::memory});
  if (op.group_cycles > op.work_cycles || op.drag != 0)
    account_gap(op.next + span_of(op, groups),
                int(op.holds_datapath ? Stall::memory : Stall::dependency), -1, -1, op.inst);
}

// Of a group of several wavelets: how many of the elements are there and have room.
uint32_t Core::ramp_limit(const VectorOp& op, uint32_t count) const {
  const Machine& m = world_.machine;
  if (op.a.kind == Cursor::Kind::fabin && op.b.kind == Cursor::Kind::fabin && op.a.queue == op.b.queue) return 1;
  for (const Cursor* c : {&op.a, &op.b}) {
    if (c->kind != Cursor::Kind::fabin) continue;
    const InputQueue& q = pe_.inputs[c->queue];
    uint32_t there = c->half;
    for (size_t i = 0; i < q.count && there < count; ++i) {
      const Entry w = q.at(i);
      const bool data = !(w & kEntryControl) || c->transform;
      if (!data || entry_age(w, now_) < Cycle(m.ramp.down_cycles) || (q.messages && i > 0)) break;
      there += c->packed ? 2 : 1;
    }
    count = std::min(count, there);
  }
  if (op.dst.kind != Cursor::Kind::fabout) return count;
  const Lane& l = block_.lanes[op.dst.lane()];
  const int words = m.queues.output_words[op.dst.queue] + m.router.lane_depth_wavelets;
  const int room = std::min(words, int(l.capacity)) - taken_at_start(l);
  return std::min(count, uint32_t(room) * (op.dst.packed ? 2 : 1) - op.dst.half);
}

int8_t Core::input_color(const Cursor& c) const {
  return c.kind == Cursor::Kind::fabin ? int8_t(pe_.inputs[c.queue].color) : int8_t(-1);
}

int8_t Core::output_color(const Cursor& c) { return c.kind == Cursor::Kind::fabout ? int8_t(c.color) : int8_t(-1); }

void Core::execute_group(VectorOp& op, int thread) {
  if (!op.fabric && thread == kMainThread) {
    op.next = op.served = now_;  // cycles that went to a microthread are lost
    run_memory_op(op);
    return;
  }
  uint32_t count = fifo_limit(op, std::min(op.group, op.total - op.done));
  const int ramp = world_.machine.ramp.wavelets_per_cycle;
  if (ramp > 1 || op.wide || op.a.half != 0 || op.b.half != 0) count = ramp_limit(op, count);
  execute_elements(op, count);
  if (faulted_) return;
  fifo_moved(op);
  const Work what = on_fabric(op.dst) || on_fabric(op.a) || on_fabric(op.b) ? Work::fabric : Work::memory;
  account_busy(now_, what);
  if (world_.details) [[unlikely]]
    world_.details->work({pe_.at, now_, now_ + 1, op.inst, thread == kMainThread ? -1 : thread, pe_.task,
                          {input_color(op.a), input_color(op.b)}, output_color(op.dst), what});
  count_elements(op, count);
  if (op.config.on_control == isa::DsrConfig::OnControl::terminate) [[unlikely]] end_of_message(op);
  op.served = now_;
  // The ramp carries the wavelets of a wide group one after the other; until then its thread has no other
  // group.
  const uint64_t groups = op.wide ? std::max(1, (int(count) / 2 + int(count) % 2) / ramp) : 1;
  op.next = now_ + span_of(op, groups);
  if (op.drag != 0) [[unlikely]]
    charge(op, groups);
  op.why = op.holds_datapath ? Stall::memory : Stall::dependency;
  if (op.holds_datapath) pe_.datapath_free = op.next;
  if (op.done < op.total) return;
  if (op.next - 1 > now_) block_.wake(pe_, op.next - 1);  // the run does not end before the last cycle of the group
  retire(thread, op.next - 1);
}

}  // namespace cs::sim

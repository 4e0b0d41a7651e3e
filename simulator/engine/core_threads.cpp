// What an operation takes when it issues: its thread and priority, its queues, elements and cycles per group.

#include <algorithm>
#include <bit>

#include "runtime/isa/bank_cycles.h"
#include "runtime/isa/silicon_drag.h"
#include "simulator/engine/core.h"

namespace cs::sim {

int Core::microthread_of(const VectorOp& op) const {
  if (op.config.microthread >= 0) return op.config.microthread;
  for (const isa::Dsd& d : dsds_)
    if (d.kind != isa::DsdKind::none && d.microthread >= 0) return d.microthread;
  const int microthreads = world_.machine.core.microthreads;
  if (op.dst.kind == Cursor::Kind::fabout) return op.dst.queue % microthreads;
  for (const Cursor* c : {&op.a, &op.b})
    if (c->kind == Cursor::Kind::fabin) {
      const InputQueue& q = pe_.inputs[c->queue];
      return (q.id == 0xFF ? q.color : q.id) % microthreads;
    }
  return 0;
}

// Microthreads: low, medium, high = 2, 4, 6; the main thread lies between low and medium.
uint8_t Core::rank_of(const VectorOp& op, int thread) const {
  if (thread == kMainThread) return uint8_t(3 + pe_.settings->main_priority);
  uint8_t priority = op.config.priority;
  for (const isa::Dsd& d : dsds_)
    if (priority == 0) priority = d.priority;
  for (const Cursor* c : {&op.a, &op.b})
    if (priority == 0 && c->kind == Cursor::Kind::fabin) priority = pe_.inputs[c->queue].priority;
  return uint8_t(2 * std::max<int>(1, priority));
}

// Two operations at work on one queue corrupt each other on the hardware; here it is a fault.
bool Core::claim_queues(VectorOp& op, int thread, Cycle t) {
  for (Cursor* c : {&op.a, &op.b}) {
    if (c->kind != Cursor::Kind::fabin) continue;
    InputQueue& q = pe_.inputs[c->queue];
    if (q.readers != 0 && !block_.let_pass(Allowable::queue_conflict)) {
      raise("queue-conflict", t, op.inst,
            "two operations at a time receive color " + std::to_string(q.color) +
                (q.id == 0xFF ? "" : " from input queue " + std::to_string(q.id)));
      return false;
    }
  }
  if (op.dst.kind == Cursor::Kind::fabout)
    for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1) {
      const VectorOp& other = *pe_.ops[size_t(std::countr_zero(rest))];
      if (other.dst.kind != Cursor::Kind::fabout || other.dst.queue != op.dst.queue) continue;
      if (block_.let_pass(Allowable::queue_conflict)) break;
      raise("queue-conflict", t, op.inst,
            "two operations at a time send through output queue " + std::to_string(op.dst.queue));
      return false;
    }
  for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1) {
    const VectorOp& other = *pe_.ops[size_t(std::countr_zero(rest))];
    const bool push = is_fifo(op.dst) && is_fifo(other.dst) && op.dst.queue == other.dst.queue;
    const Cursor &mine = is_fifo(op.b) ? op.b : op.a, &its = is_fifo(other.b) ? other.b : other.a;
    if (!push && !(is_fifo(mine) && is_fifo(its) && mine.queue == its.queue)) continue;
    raise("queue-conflict", t, op.inst,
          std::string("two operations at a time ") + (push ? "write to" : "read from") + " one FIFO");
    return false;
  }
  for (Cursor* c : {&op.a, &op.b})
    if (c->kind == Cursor::Kind::fabin) pe_.inputs[c->queue].readers |= 1u << thread;
  return true;
}

// Elements per group and cycles per group.
void Core::set_group(VectorOp& op, const isa::Inst& inst, const Decoded& d) {
  const Machine::Core& core = world_.machine.core;
  int group = d.width;
  const int read = (in_memory(op.a) ? op.a.bytes : 0) + (in_memory(op.b) ? op.b.bytes : 0);
  const int write = in_memory(op.dst) ? op.dst.bytes : 0;
  const int ramp = world_.machine.ramp.wavelets_per_cycle;
  op.memory_bytes = uint8_t(read + write);
  for (const Cursor* c : {&op.a, &op.b})
    if (in_memory(*c) && c->clears) op.memory_bytes = uint8_t(op.memory_bytes + c->bytes);
  const bool packed = op.dst.packed || op.a.packed || op.b.packed;
  op.wide = packed;
  for (const Cursor* c : {&op.dst, &op.a, &op.b})
    if (on_fabric(*c)) {
      op.fabric = true;
      op.wide &= c->simd_64;
    }
  const int wavelets = op.wide ? std::max(2, ramp) : ramp;
  if (op.fabric) group = packed ? std::clamp(group, 2, 2 * wavelets) : std::min(group, ramp);
  for (const Cursor* c : {&op.dst, &op.a, &op.b})
    if (is_fifo(*c)) {
      op.fabric = true;
      const isa::SimdMode simd = fifo_binding(*c).simd;
      const int bytes = simd == isa::SimdMode::simd_64 ? 8 : simd == isa::SimdMode::simd_32 ? 4 : 2;
      if (simd != isa::SimdMode::automatic) group = std::min(group, std::max(1, bytes / c->bytes));
    }
  if (packed) group = std::max(group, 2);
  if (op.dst.kind == Cursor::Kind::reg) group = packed ? 2 : 1;
  op.group = uint32_t(std::max(1, group));
  // What the memory needs for a whole group, also for the last one, which may have fewer elements.
  const auto cycles = [&](int bytes, int rate) { return (int(op.group) * bytes + rate - 1) / rate; };
  const int at_memory =
      std::max(cycles(read, core.read_bytes_per_cycle), cycles(write, core.write_bytes_per_cycle));
  op.work_cycles = op.group_cycles = uint32_t(std::max(1, at_memory));
  op.holds_datapath = op.group_cycles > 1;
  if (op.dst.kind == Cursor::Kind::reg) {
    bool add = inst.op != isa::Op::fmaxs && inst.op != isa::Op::fmaxh;
    if (d.reduction && add && isa::row(inst.op).cost == isa::Cost::fp)
      op.group_cycles = uint32_t(std::max(1, core.reduction_cycles_per_element));
  }
  const auto walk = [](const Cursor& c) { return in_memory(c) ? isa::BankWalk{c.address, c.step} : isa::BankWalk{}; };
  const int cycles_with_banks =
      isa::with_banks(core, walk(op.dst), walk(op.a), walk(op.b), cycles(read, core.read_bytes_per_cycle),
                      int(op.work_cycles), int(op.group_cycles));
  op.holds_datapath |= cycles_with_banks != int(op.group_cycles);
  op.group_cycles = uint32_t(cycles_with_banks);
  op.drag = isa::silicon_drag(world_.machine, inst.op, op.group_cycles, op.fabric);
}

}  // namespace cs::sim

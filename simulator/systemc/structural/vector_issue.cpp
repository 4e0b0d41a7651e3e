// Issue of a vector instruction: operands from descriptor registers, thread, queues, size and cycles of a group.
#include <algorithm>

#include "runtime/isa/bank_cycles.h"
#include "runtime/isa/dsr_merge.h"
#include "runtime/isa/silicon_drag.h"
#include "simulator/systemc/structural/vector_unit.h"

namespace cs::sim::structural {

using Kind = Operand::Kind;

bool VectorUnit::issue(const Instruction& i, Cycle t) {
  if (i.element == nullptr || i.element->fn == nullptr || !i.element->vector) {
    core_.fault("illegal-instruction", t, core_.pc, "not a vector instruction: " + isa::print(i.inst));
    return false;
  }
  Operation op;
  op.instruction = &i;
  op.inst = core_.pc;
  op.issued = t;
  op.next = t + Cycle(std::max(1, core_.machine.core.dsd_start_cycles));
  bool first = true;
  for (size_t k = 0; k < 3; ++k) {
    if (!i.inst.args[k].is_dsr()) continue;
    const isa::DsrConfig& config = core_.dsr(i.inst.args[k]).config;
    op.config = first ? config : isa::merge(op.config, config);
    first = false;
  }
  if (!make_operands(op)) return false;
  op.sync = !op.config.async;
  const int thread = op.sync ? kMainThread : microthread_of(op);
  if (!op.sync && !core_.check_id(thread, core_.machine.core.microthreads, "a microthread", t)) return false;
  if (busy(thread)) {
    core_.wanted_thread = thread;
    return false;
  }
  set_group(op);
  if (!claim_queues(op, thread, t)) return false;
  op.rank = rank_of(op, thread);
  core_.activity.act();
  core_.activity.wait_until(op.next);
  ++core_.instructions;
  ++core_.pc;
  core_.next_index = 0;
  core_.ready = t + Cycle(std::max(1, core_.machine.core.issue_cycles));
  const bool empty = op.total == 0;
  threads_[size_t(thread)] = std::move(op);
  if (empty) retire(thread, t + Cycle(core_.machine.core.dsd_start_cycles) - 1);
  return true;
}

// ---- operands

// The least extent; that of a fabric output counts where nothing else has one.
bool VectorUnit::make_operands(Operation& op) {
  const Instruction& i = *op.instruction;
  const ElementOp& e = *i.element;
  if (!make_operand(op, 0, i.inst.args[0], e.dst_bytes)) return false;
  if (e.a_bytes != 0 && !make_operand(op, 1, i.inst.args[1], e.a_bytes)) return false;
  if (e.b_bytes != 0 && !make_operand(op, 2, i.inst.args[2], e.b_bytes)) return false;
  if (e.s_bytes != 0) op.scalar = operand_value(i.inst.args[3], core_.regs, e.s_bytes);
  if (i.reduction) op.dst.value = op.a.value;
  op.total = least_extent(op, false);
  if (op.total == ~0u) op.total = least_extent(op, true);
  for (const Operand* o : op.operands())
    if (o->dsr != nullptr && o->dsr->config.single_step) op.total = std::min({op.total, 1u, o->dsr->left()});
  if (op.total == ~0u) op.total = 1;
  if (op.dst.kind == Kind::output) {
    if (isa::row(i.inst.op).cost == isa::Cost::fp) op.dst.late = core_.machine.ramp.fp_cycles;
    if (op.dst.dsd.zero == 1) op.a.clears = true;
    if (op.dst.dsd.zero == 2) (e.b_bytes != 0 ? op.b : op.a).clears = true;
  }
  return true;
}

// Of the fabric output, or of the others; all ones if there is none.
uint32_t VectorUnit::least_extent(const Operation& op, bool output) const {
  uint32_t least = ~0u;
  for (const Operand* o : op.operands()) {
    const bool unlimited = o->kind == Kind::fifo && o->dsd.extent[0] == 0;
    if (o->dsr != nullptr && (o->kind == Kind::output) == output && !unlimited)
      least = std::min(least, o->dsd.elements());
  }
  return least;
}

bool VectorUnit::make_operand(Operation& op, size_t position, const isa::Operand& from, int bytes) {
  Operand& o = *op.operands()[position];
  o.bytes = bytes;
  if (!from.is_dsr()) {
    o.kind = position == 0 ? Kind::reg : Kind::value;
    if (position != 0) o.value = operand_value(from, core_.regs, bytes);
    return true;
  }
  o.dsr = &core_.dsr(from);
  const isa::Dsd& d = o.dsd = o.dsr->dsd;
  switch (d.kind) {
    case isa::DsdKind::mem1d:
    case isa::DsdKind::mem4d: {
      o.kind = Kind::memory;
      o.address = (d.base + (d.indexed ? 2 * core_.next_index : 0)) & 0xFFFF;  // the index counts 16-bit words
      if (d.kind == isa::DsdKind::mem4d) o.at = o.dsr->at;
      const MemoryGuard::Span span = core_.tile.guard.span_at(d.base);
      o.low = span.low;
      o.high = span.high;
      return true;
    }
    case isa::DsdKind::circbuf:
      o.kind = Kind::memory;
      o.address = d.base;
      return true;
    case isa::DsdKind::fabin:
    case isa::DsdKind::fabout:
      if ((position == 0) != (d.kind == isa::DsdKind::fabout)) {
        core_.fault("illegal-instruction", core_.ready, core_.pc,
                    position == 0 ? "the destination is a fabin DSD" : "a source is a fabout DSD");
        return false;
      }
      o.packed = bytes == 2 && (d.simd == isa::SimdMode::simd_32 || d.simd == isa::SimdMode::simd_64);
      return position == 0 ? make_output(op, o) : make_input(o);
    case isa::DsdKind::fifo:
      o.kind = Kind::fifo;
      o.queue = d.queue;
      core_.test = true;
      if (size_t(d.queue) < core_.fifos.size()) return true;
      core_.fault("illegal-instruction", core_.ready, op.inst, "a FIFO that the program does not have");
      return false;
    case isa::DsdKind::none:
      break;
  }
  core_.fault("illegal-instruction", core_.ready, op.inst, "a DSR was used before it was loaded");
  return false;
}

bool VectorUnit::make_output(Operation& op, Operand& o) {
  const int queues = int(core_.machine.queues.output_words.size());
  if (!core_.check_id(o.dsd.queue, queues, "an output queue", core_.ready)) return false;
  o.kind = Kind::output;
  o.queue = o.dsd.queue;
  o.index = core_.next_index;
  o.color = o.dsd.color != isa::kQueueColor ? o.dsd.color : core_.output_color[size_t(o.queue)];
  if (o.color >= 0 && !core_.check_id(o.color, core_.machine.router.colors, "a color", core_.ready)) return false;
  if (o.color >= 0 && core_.router.color(o.color).swaps_both()) o.color ^= 1;
  if (o.color >= 0 && core_.router.has_core_lane(o.color)) return true;
  core_.fault("illegal-instruction", core_.ready, op.inst,
              o.color < 0 ? "output queue " + std::to_string(o.queue) + " has no color"
                          : "color " + std::to_string(o.color) + " has no route from RAMP at this PE");
  return false;
}

bool VectorUnit::make_input(Operand& o) {
  o.kind = Kind::input;
  if (o.dsd.color == isa::kQueueColor) {
    o.queue = core_.inputs.of_queue(o.dsd.queue);
  } else {
    if (!core_.check_id(o.dsd.color, core_.machine.router.colors, "a color", core_.ready)) return false;
    const bool there = core_.inputs.bound(o.dsd.color) || core_.router.has_color(o.dsd.color);
    o.queue = there ? core_.inputs.of_color(o.dsd.color) : -1;
  }
  if (o.queue >= 0) return true;
  core_.fault("illegal-instruction", core_.ready, core_.pc,
              o.dsd.color != isa::kQueueColor ? "color " + std::to_string(o.dsd.color) + " has no route to this PE"
                                              : "input queue " + std::to_string(o.dsd.queue) + " has no color");
  return false;
}

// ---- thread and queues

int VectorUnit::microthread_of(const Operation& op) const {
  if (op.config.microthread >= 0) return op.config.microthread;
  for (const Operand* o : op.operands())
    if (o->dsr != nullptr && o->dsd.microthread >= 0) return o->dsd.microthread;
  const int microthreads = core_.machine.core.microthreads;
  if (op.dst.kind == Kind::output) return op.dst.queue % microthreads;
  for (const Operand* o : {&op.a, &op.b})
    if (o->kind == Kind::input) {
      const InputQueues::Queue& q = core_.inputs.at(size_t(o->queue));
      return (q.id < 0 ? q.color : q.id) % microthreads;
    }
  return 0;
}

// Microthreads: low, medium, high = 2, 4, 6; the main thread lies between low and medium.
int VectorUnit::rank_of(const Operation& op, int thread) const {
  if (thread == kMainThread) return 3 + core_.main_priority;
  int priority = op.config.priority;
  for (const Operand* o : op.operands())
    if (priority == 0 && o->dsr != nullptr) priority = o->dsd.priority;
  for (const Operand* o : {&op.a, &op.b})
    if (priority == 0 && o->kind == Kind::input) priority = core_.inputs.at(size_t(o->queue)).priority;
  return 2 * std::max(1, priority);
}

// Two operations at work on one queue or on one end of a FIFO.
bool VectorUnit::claim_queues(Operation& op, int thread, Cycle t) {
  const auto conflict = [&](const std::string& what) {
    core_.fault("queue-conflict", t, op.inst, "two operations at a time " + what);
    return false;
  };
  for (const Operand* o : {&op.a, &op.b})
    if (o->kind == Kind::input && core_.inputs.at(size_t(o->queue)).readers != 0)
      return conflict("receive color " + std::to_string(core_.inputs.at(size_t(o->queue)).color));
  const auto reads_fifo = [](const Operation& x, int fifo) {
    return (x.a.kind == Kind::fifo && x.a.queue == fifo) || (x.b.kind == Kind::fifo && x.b.queue == fifo);
  };
  for (const auto& other : threads_) {
    if (!other) continue;
    if (op.dst.kind == Kind::output && other->dst.kind == Kind::output && op.dst.queue == other->dst.queue)
      return conflict("send through output queue " + std::to_string(op.dst.queue));
    if (op.dst.kind == Kind::fifo && other->dst.kind == Kind::fifo && op.dst.queue == other->dst.queue)
      return conflict("write to one FIFO");
    for (const Operand* o : {&op.a, &op.b})
      if (o->kind == Kind::fifo && reads_fifo(*other, o->queue)) return conflict("read from one FIFO");
  }
  for (const Operand* o : {&op.a, &op.b})
    if (o->kind == Kind::input) core_.inputs.at(size_t(o->queue)).readers |= 1u << thread;
  return true;
}

// ---- groups

void VectorUnit::set_group(Operation& op) const {
  const Machine& m = core_.machine;
  const Instruction& i = *op.instruction;
  int group = i.simd_width;
  bool packed = false, fabric = false, wide = true;
  for (const Operand* o : op.operands()) {
    packed |= o->packed;
    fabric |= o->on_fabric();
    wide &= !o->on_fabric() || o->simd_64();
    op.waits_for_others |= o->on_fabric() || o->kind == Kind::fifo;
  }
  op.wide = packed && wide;
  const int ramp = m.ramp.wavelets_per_cycle, wavelets = op.wide ? std::max(2, ramp) : ramp;
  if (fabric) group = packed ? std::clamp(group, 2, 2 * wavelets) : std::min(group, ramp);
  for (const Operand* o : op.operands()) {
    if (o->kind != Kind::fifo || binding(*o).simd == isa::SimdMode::automatic) continue;
    const isa::SimdMode simd = binding(*o).simd;
    const int bytes = simd == isa::SimdMode::simd_64 ? 8 : simd == isa::SimdMode::simd_32 ? 4 : 2;
    group = std::min(group, std::max(1, bytes / o->bytes));
  }
  if (packed) group = std::max(group, 2);
  if (op.dst.kind == Kind::reg) group = packed ? 2 : 1;
  op.group = uint32_t(std::max(1, group));

  const auto bytes = [](const Operand& o) { return o.in_memory() ? o.bytes : 0; };
  const auto cycles = [&](int per_element, int rate) { return (int(op.group) * per_element + rate - 1) / rate; };
  const int reading = cycles(bytes(op.a) + bytes(op.b), m.core.read_bytes_per_cycle);
  const int moving = std::max({1, reading, cycles(bytes(op.dst), m.core.write_bytes_per_cycle)});
  op.group_cycles = uint32_t(moving);
  op.keeps_datapath = moving > 1;
  const bool adds = i.inst.op != isa::Op::fmaxs && i.inst.op != isa::Op::fmaxh;
  if (i.reduction && adds && isa::row(i.inst.op).cost == isa::Cost::fp)
    op.group_cycles = uint32_t(std::max(1, m.core.reduction_cycles_per_element));
  add_banks(op, reading, moving);
  op.drag = isa::silicon_drag(m, i.inst.op, op.group_cycles, op.waits_for_others);
}

void VectorUnit::add_banks(Operation& op, int reading, int moving) const {
  const auto walk = [](const Operand& o) {
    return o.in_memory() ? isa::BankWalk{o.address, o.step()} : isa::BankWalk{};
  };
  const int cycles = isa::with_banks(core_.machine.core, walk(op.dst), walk(op.a), walk(op.b), reading, moving,
                                     int(op.group_cycles));
  op.keeps_datapath |= cycles != int(op.group_cycles);
  op.group_cycles = uint32_t(cycles);
}

}  // namespace cs::sim::structural

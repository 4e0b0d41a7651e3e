// A cycle of the datapath: the threads whose operands are there compete; the higher priority wins, then the one that
// was served longest ago.
#include "simulator/systemc/structural/vector_unit.h"

#include <algorithm>

namespace cs::sim::structural {

using Kind = Operand::Kind;

bool VectorUnit::any() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& op) { return op.has_value(); });
}

void VectorUnit::step() {
  int best = -1;
  for (int thread = 0; thread < kThreads; ++thread) {
    if (!busy(thread)) continue;
    Operation& op = *threads_[size_t(thread)];
    if (op.next > core_.now() || (thread < kMainThread && (core_.threads_blocked >> thread & 1))) continue;
    if (!group_ready(op, thread) || datapath_free_ > core_.now()) continue;
    if (best >= 0) {
      const Operation& other = *threads_[size_t(best)];
      if (op.rank < other.rank || (op.rank == other.rank && op.served >= other.served)) continue;
    }
    best = thread;
  }
  if (best >= 0) execute(*threads_[size_t(best)], best);
}

// ---- operands are there

bool VectorUnit::group_ready(Operation& op, int thread) {
  for (Operand* o : {&op.a, &op.b}) {
    if (o->kind == Kind::input && !input_ready(op, thread, *o)) return false;
    if (!busy(thread)) return false;  // a control wavelet ended it
  }
  for (Operand* o : {&op.a, &op.b})
    if (o->kind == Kind::fifo && !fifo_ready(op, thread, *o, false)) return false;
  if (op.dst.kind == Kind::fifo && !fifo_ready(op, thread, op.dst, true)) return false;
  return op.dst.kind != Kind::output || output_ready(op, op.dst);
}

bool VectorUnit::input_ready(Operation& op, int thread, Operand& o) {
  if (o.half) return true;
  InputQueues::Queue& q = core_.inputs.at(size_t(o.queue));
  if (q.held.empty()) return false;
  if (q.held.front().departed + Cycle(core_.machine.ramp.down_cycles) > core_.now()) return false;
  if (q.messages && q.message_left == 0) {  // a header takes a cycle of its own
    core_.inputs.pop(size_t(o.queue));
    core_.activity.act();
    op.next = core_.now() + 1;
    return false;
  }
  const bool control = q.front().control;
  if (o.drops()) return drop(op, thread, o, control);
  return !control || o.dsd.control_transform || take_control(op, thread, o);
}

// @dfilt: one wavelet per cycle, and not the datapath; control wavelets are its elements.
bool VectorUnit::drop(Operation& op, int thread, const Operand& o, bool control) {
  core_.inputs.pop(size_t(o.queue));
  core_.activity.act();
  op.next = core_.now() + 1;
  if (!control || ++op.done < op.total) return false;
  op.stopped = true;
  retire(thread, core_.now());
  return false;
}

// Without on_control the scheduler may have it, if a task is bound and not blocked and the operation is asynchronous;
// else it is dropped.
bool VectorUnit::take_control(Operation& op, int thread, const Operand& o) {
  using OnControl = isa::DsrConfig::OnControl;
  const InputQueues::Queue& q = core_.inputs.at(size_t(o.queue));
  op.next = core_.now() + 1;
  if (op.config.on_control == OnControl::none) {
    const int task = core_.scheduler.control_task_of(q, q.front());
    const bool bound =
        core_.tile.control_task[size_t(task)] >= 0 && q.task_id >= 0 && !core_.scheduler.blocked(q.task_id);
    if (bound && thread != kMainThread) return false;
    core_.inputs.pop(size_t(o.queue));
    core_.activity.act();
    return false;
  }
  core_.inputs.pop(size_t(o.queue));
  core_.activity.act();
  const OnControl action = op.config.on_control;
  const int task = op.config.on_control_task;
  if (action != OnControl::terminate) op.config.activate = op.config.unblock = -1;
  retire(thread, core_.now());
  if (action == OnControl::activate) core_.scheduler.activate(task, core_.now());
  if (action == OnControl::unblock) core_.scheduler.unblock(task, core_.now());
  return false;
}

// Room as of the start of the cycle. A queue holds words of one color: those of the color before must fit into their
// lane.
bool VectorUnit::output_ready(const Operation& op, const Operand& o) {
  int& last = core_.output_last[size_t(o.queue)];
  if (last >= 0 && last != o.color && !core_.ramp.fits_lane(last)) return false;
  const Machine& m = core_.machine;
  if (core_.ramp.taken(o.color) >= m.queues.output_words[size_t(o.queue)] + m.router.lane_depth_wavelets) return false;
  last = o.color;
  return op.next <= core_.now();
}

bool VectorUnit::fifo_ready(Operation& op, int thread, Operand& o, bool push) {
  Fifo& f = core_.fifos[size_t(o.queue)];
  const FifoBinding& b = binding(o);
  if ((push ? b.bytes - f.fill : f.fill) >= o.bytes) return true;
  (push ? f.was_full : f.was_empty) = true;
  f.need = o.bytes;
  const FifoAction action = push ? b.full : b.empty;
  if (action == FifoAction::fault) {
    core_.fault("queue-conflict", core_.now(), op.inst,
                push ? "an element for a full FIFO" : "a read from an empty FIFO");
    return false;
  }
  if (action == FifoAction::suspend || (action == FifoAction::test_or_suspend && !op.sync)) return false;
  // It ends here; what is left of its length stays in the register.
  uint16_t& length = o.dsr->dsd.extent[0];
  if (length != 0) length = uint16_t(length - std::min<uint32_t>(length, op.done));
  op.stopped = true;
  if (thread == kMainThread) core_.test = action == FifoAction::terminate;
  core_.activity.act();
  retire(thread, core_.now());
  return false;
}

// Elements that the next group has: no more than are there, or than there is room for.
uint32_t VectorUnit::elements_there(const Operation& op) const {
  const Machine& m = core_.machine;
  uint32_t count = std::min(op.group, op.total - op.done);
  for (const Operand* o : op.operands()) {
    if (o->kind != Kind::fifo) continue;
    const int fill = core_.fifos[size_t(o->queue)].fill;
    const int bytes = o == &op.dst ? binding(*o).bytes - fill : fill;
    count = std::min(count, uint32_t(bytes / o->bytes));
  }
  if (op.a.kind == Kind::input && op.b.kind == Kind::input && op.a.queue == op.b.queue) return std::min(count, 1u);
  for (const Operand* o : {&op.a, &op.b}) {
    if (o->kind != Kind::input) continue;
    const InputQueues::Queue& q = core_.inputs.at(size_t(o->queue));
    uint32_t there = o->half;
    for (size_t i = 0; i < q.held.size() && there < count; ++i) {
      const InputQueues::Arrived& w = q.held[i];
      const bool data = !w.wavelet.control || o->dsd.control_transform;
      if (!data || w.departed + Cycle(m.ramp.down_cycles) > core_.now() || (q.messages && i > 0)) break;
      there += o->packed ? 2 : 1;
    }
    count = std::min(count, there);
  }
  if (op.dst.kind != Kind::output) return count;
  const int room = m.queues.output_words[size_t(op.dst.queue)] + m.router.lane_depth_wavelets -
                   core_.ramp.taken(op.dst.color);
  return std::min(count, uint32_t(room * (op.dst.packed ? 2 : 1) - op.dst.half));
}

// ---- a group

void VectorUnit::execute(Operation& op, int thread) {
  const uint32_t count = elements_there(op);
  for (uint32_t i = 0; i < count; ++i)
    if (!execute_element(op)) return;
  core_.activity.act();
  fifo_moved(op);
  if (op.config.on_control == isa::DsrConfig::OnControl::terminate) end_of_message(op);
  op.served = core_.now();
  // The ramp carries the wavelets of a wide group one after the other; until then its thread has no other group.
  const int ramp = core_.machine.ramp.wavelets_per_cycle;
  const uint64_t groups = op.wide ? uint64_t(std::max(1, int(count + 1) / 2 / ramp)) : 1;
  op.next = core_.now() + op.span(groups);
  op.charge(groups);
  if (op.keeps_datapath) datapath_free_ = op.next;
  core_.activity.wait_until(op.next);
  core_.activity.work_until(op.next);
  if (op.done == op.total) retire(thread, op.next - 1);
}

// An element that lets the operation at the other end go on (in the next cycle) activates the task that wants to know.
void VectorUnit::fifo_moved(const Operation& op) {
  for (const Operand* o : op.operands()) {
    if (o->kind != Kind::fifo) continue;
    const bool push = o == &op.dst;
    Fifo& f = core_.fifos[size_t(o->queue)];
    const FifoBinding& b = binding(*o);
    bool& waited = push ? f.was_empty : f.was_full;
    if (!waited || (push ? f.fill : b.bytes - f.fill) < f.need) continue;
    waited = false;
    const int task = push ? b.activate_push : b.activate_pop;
    if (task >= 0) core_.scheduler.activate(task, core_.now());
  }
}

// The last wavelet of a message ends an operation that a control wavelet would end.
void VectorUnit::end_of_message(Operation& op) {
  for (const Operand* o : {&op.a, &op.b}) {
    if (o->kind != Kind::input) continue;
    const InputQueues::Queue& q = core_.inputs.at(size_t(o->queue));
    if (q.messages && q.message_left == 0) op.total = op.done;
  }
}

// With x the last cycle of the last group, at x + 1 - dsd_start: from there on the thread may issue, and completion
// events happen. That is before x; what it makes others do begins after x.
void VectorUnit::retire(int thread, Cycle last_group) {
  const Operation op = std::move(*threads_[size_t(thread)]);
  threads_[size_t(thread)].reset();
  const Cycle start = Cycle(std::max(1, core_.machine.core.dsd_start_cycles));
  const Cycle at = std::max(op.issued + 1, last_group + 1 >= start ? last_group + 1 - start : 0);
  for (const Operand* o : {&op.a, &op.b})
    if (o->kind == Kind::input) core_.inputs.at(size_t(o->queue)).readers &= ~(1u << thread);
  save_addresses(op);
  if (op.dst.kind == Kind::reg && !op.stopped) {
    const isa::Operand& o = op.instruction->inst.args[0];
    if (o.kind == isa::OperandKind::pair)
      core_.regs.set_pair(o.value, op.dst.value);
    else
      core_.regs.r[size_t(o.value)] = uint16_t(op.dst.value);
    core_.set_result(*op.instruction, at);
  }
  if (op.config.activate >= 0) core_.scheduler.activate(op.config.activate, at, last_group);
  if (op.config.unblock >= 0) core_.scheduler.unblock(op.config.unblock, at, last_group);
  core_.activity.wait_until(last_group);
  if (thread == kMainThread) {
    core_.last_group = last_group;
    core_.ready = std::max(core_.ready, at);
    return;
  }
  core_.observer.ended({core_.at, op.issued, last_group + 1, -1, -1, thread, op.inst});
  if (core_.wanted_thread != thread) return;
  core_.wanted_thread = -1;
  core_.ready = std::max(core_.ready, at);
}

// save_address: the next operation begins where this one ended; of several dimensions, one step of the outermost one
// behind its last element. single_step: one element further.
void VectorUnit::save_addresses(const Operation& op) {
  for (const Operand* o : op.operands()) {
    if (o->dsr == nullptr) continue;
    Dsr& dsr = *o->dsr;
    if (op.config.save_address && dsr.config.save_address && o->kind == Kind::memory) {
      int address = o->address;
      if (o->dsd.kind == isa::DsdKind::mem4d) {
        size_t outer = 0;
        while (outer < 3 && o->dsd.extent[outer] == 1 && o->dsd.stride[outer] == 0) ++outer;
        address += o->dsd.stride[outer] * o->bytes;
      }
      dsr.dsd.base = uint16_t(address);
    }
    if (!op.config.single_step || !dsr.config.single_step || op.done == 0) continue;
    if (dsr.dsd.in_memory()) dsr.dsd.base = uint16_t(o->address);
    dsr.at = o->at;
    ++dsr.stepped;
  }
}

}  // namespace cs::sim::structural

// FIFOs: rings in memory between two operations of a core.
//
//   ready   an operation may move at least one element; else it suspends, ends, or faults, as the FIFO's action says
//   limit   a group moves no more elements than there are, or than there is room for
//   moved   an element at one end lets the operation that waits at the other go on, and activates the task that the
//           program wants to know, if an operation could not go on before
#include <algorithm>
#include <bit>

#include "simulator/engine/core.h"

namespace cs::sim {

bool Core::fifo_ready(VectorOp& op, int thread, const Cursor& c, bool push) {
  Fifo& f = pe_.fifos[c.queue];
  const FifoBinding& b = fifo_binding(c);
  const int have = push ? b.bytes - f.fill : f.fill;
  if (have >= c.bytes) return true;
  (push ? f.was_full : f.was_empty) = true;
  f.need = c.bytes;
  const FifoAction action = push ? b.full : b.empty;
  if (action == FifoAction::fault) {
    raise("queue-conflict", now_, op.inst, push ? "an element for a full FIFO" : "a read from an empty FIFO");
    return false;
  }
  if (action == FifoAction::suspend || (action == FifoAction::test_or_suspend && !op.sync)) {
    op.why = push ? Stall::output : Stall::input;
    op.waits_fifo = int8_t(c.queue);
    op.waits = true;
    return false;
  }
  // It ends here; what is left of its length stays in the register.
  const size_t position = &c == &op.dst ? 0 : &c == &op.a ? 1 : 2;
  uint16_t& length = pe_.dsrs[size_t(op.saves[position])].dsd.length;
  if (length != 0) length = uint16_t(length - std::min<uint32_t>(length, op.done));
  op.stopped = true;
  if (thread == kMainThread) pe_.test = action == FifoAction::terminate;
  retire(thread, now_);
  return false;
}

uint32_t Core::fifo_limit(const VectorOp& op, uint32_t count) const {
  for (const Cursor* c : {&op.a, &op.b})
    if (c->kind == Cursor::Kind::fifo) count = std::min<uint32_t>(count, pe_.fifos[c->queue].fill / c->bytes);
  if (op.dst.kind == Cursor::Kind::fifo) {
    const int room = fifo_binding(op.dst).bytes - pe_.fifos[op.dst.queue].fill;
    count = std::min<uint32_t>(count, uint32_t(room) / op.dst.bytes);
  }
  return count;
}

void Core::fifo_moved(const VectorOp& op) {
  for (const Cursor* c : {&op.dst, &op.a, &op.b}) {
    if (c->kind != Cursor::Kind::fifo) continue;
    const bool push = c == &op.dst;
    Fifo& f = pe_.fifos[c->queue];
    const FifoBinding& b = fifo_binding(*c);
    bool& waited = push ? f.was_empty : f.was_full;
    if (!waited || (push ? f.fill : b.bytes - f.fill) < f.need) continue;
    waited = false;
    const int task = push ? b.activate_push : b.activate_pop;
    if (task >= 0) activate(task, now_);
    for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1) {
      VectorOp& other = *pe_.ops[size_t(std::countr_zero(rest))];
      if (other.waits_fifo != int8_t(c->queue)) continue;
      other.waits = false;
      other.next = std::max(other.next, now_ + 1);
    }
  }
}

uint32_t Core::read_fifo(VectorOp& op, const Cursor& c) {
  Fifo& f = pe_.fifos[c.queue];
  const FifoBinding& b = fifo_binding(c);
  uint32_t value = 0;
  for (int at = 0; at < c.bytes; at += 2) {
    if (!check_memory(op, b.address + f.head, 2)) return 0;
    const uint8_t* m = pe_.memory.at(uint32_t(b.address + f.head));
    value |= uint32_t(m[0] | m[1] << 8) << (8 * at);
    f.head = uint16_t(f.head + 2 == b.bytes ? 0 : f.head + 2);
  }
  f.fill = uint16_t(f.fill - c.bytes);
  return value;
}

void Core::write_fifo(VectorOp& op, const Cursor& c, uint32_t value) {
  Fifo& f = pe_.fifos[c.queue];
  const FifoBinding& b = fifo_binding(c);
  for (int at = 0; at < c.bytes; at += 2) {
    const int to = b.address + (f.head + f.fill) % b.bytes;
    if (!check_memory(op, to, 2)) return;
    store_bits(pe_.memory.at(uint32_t(to)), 2, value >> (8 * at));
    if (!pe_.unwritten.empty()) pe_.unwritten.mark(to, to + 2);
    f.fill = uint16_t(f.fill + 2);
  }
}

}  // namespace cs::sim

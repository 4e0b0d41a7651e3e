// One element of an operation: read, compute (simulator/exec), write. 16-bit elements travel one per wavelet, with the
// operation's index above it if the descriptor is indexed, or two, the first below.
#include <fmt/format.h>

#include <algorithm>

#include "simulator/exec/memory.h"
#include "simulator/systemc/structural/vector_unit.h"

namespace cs::sim::structural {

using Kind = Operand::Kind;

namespace {

// control_transform: the two upper bits of a word say whether it was a control wavelet.
constexpr uint32_t kTransformed = 0xC0000000;

}  // namespace

bool VectorUnit::execute_element(Operation& op) {
  const ElementOp& e = *op.instruction->element;
  uint32_t a = 0, b = 0;
  if (e.a_bytes != 0 && !read(op, op.a, a)) return false;
  if (e.b_bytes != 0 && !read(op, op.b, b)) return false;
  if (op.instruction->reduction) a = op.dst.value;
  if (e.uses_carry) b |= uint32_t(core_.regs.carry) << 16;
  uint32_t value = e.fn(a, b, op.scalar, 0);
  if (e.sets_carry) {
    core_.regs.carry = value >> 16 & 1;
    value &= 0xFFFF;
  }
  if (!write(op, value)) return false;
  ++op.done;
  return true;
}

bool VectorUnit::read(Operation& op, Operand& o, uint32_t& value) {
  switch (o.kind) {
    case Kind::memory:
      if (!check_memory(op, o, true)) return false;
      value = load_bits(core_.memory.at(uint32_t(o.address)), o.bytes);
      if (o.clears) std::fill_n(core_.memory.at(uint32_t(o.address)), o.bytes, uint8_t(0));
      o.advance();
      return true;
    case Kind::fifo:
      return read_fifo(op, o, value);
    case Kind::input:
      if (!o.half) {
        o.value = received(o, core_.inputs.at(size_t(o.queue)).front());
        core_.inputs.pop(size_t(o.queue));
      }
      value = o.bytes == 4 ? o.value : o.half ? o.value >> 16 : o.value & 0xFFFF;
      o.half = o.packed && !o.half;
      return true;
    default:
      value = o.value;
      return true;
  }
}

bool VectorUnit::write(Operation& op, uint32_t value) {
  Operand& o = op.dst;
  switch (o.kind) {
    case Kind::memory:
      if (!check_memory(op, o, false)) return false;
      store_bits(core_.memory.at(uint32_t(o.address)), o.bytes, value);
      o.advance();
      return true;
    case Kind::fifo:
      return write_fifo(op, o, value);
    case Kind::output:
      write_output(o, value, op.done + 1 == op.total);
      return true;
    default:
      o.value = value;
      return true;
  }
}

// ---- fabric

uint32_t VectorUnit::received(const Operand& o, const Wavelet& w) const {
  if (!o.dsd.control_transform) return w.data;
  const uint32_t data = w.data & ~kTransformed;
  return w.control ? (data ^ uint32_t(core_.transform_mask) << 16) | kTransformed : data;
}

void VectorUnit::write_output(Operand& o, uint32_t value, bool last) {
  if (o.bytes == 4) return send(o, value, last);
  value &= 0xFFFF;
  if (!o.packed) return send(o, value | (o.indexed() ? uint32_t(o.index) << 16 : 0), last);
  o.value = o.half ? o.value | value << 16 : value;
  if (o.half || last) send(o, o.value, last);
  o.half = !o.half;
}

void VectorUnit::send(const Operand& o, uint32_t word, bool last) {
  Wavelet w{.valid = true, .color = uint8_t(o.color), .control = o.dsd.control};
  w.advance = o.dsd.advance_switch && last;
  if (o.dsd.control_transform) {
    w.control |= (word & kTransformed) == kTransformed;
    word &= ~kTransformed;
  }
  w.data = word;
  core_.ramp.send(w, o.late);
}

// ---- memory

bool VectorUnit::check_address(const Operation& op, int64_t address, int bytes) {
  if (address & 1) {
    core_.fault("out-of-bounds", core_.now(), op.inst, "misaligned access to address " + std::to_string(address));
    return false;
  }
  if (core_.memory.holds(address, address + bytes)) return true;
  core_.fault("out-of-bounds", core_.now(), op.inst,
              fmt::format("element at address {}; the memory has {} bytes", address, core_.memory.size()));
  return false;
}

// An operand stays in the variable that it starts in; a word that is read has a value.
bool VectorUnit::check_memory(const Operation& op, const Operand& o, bool read) {
  const int64_t address = o.address, end = address + o.bytes;
  const bool inside = address >= int64_t(o.low) && end <= int64_t(o.high);
  if (!inside && end <= int64_t(core_.memory.size())) {
    core_.fault("out-of-bounds", core_.now(), op.inst,
                fmt::format("element {} of {} lies at address {}, outside the variable at {} to {}", op.done, op.total,
                            address, o.low, o.high - 1));
    return false;
  }
  if (!check_address(op, address, o.bytes)) return false;
  Unwritten& unwritten = core_.memory.unwritten();
  if (unwritten.empty()) return true;
  if (!read) {
    unwritten.mark(address, end);
    return true;
  }
  if (unwritten.find(address, end) < 0) return true;
  core_.fault("uninitialised-read", core_.now(), op.inst,
              fmt::format("memory is read at address {} before anything was written there", address));
  return false;
}

// ---- FIFOs: words of 16 bits in a ring

bool VectorUnit::read_fifo(const Operation& op, const Operand& o, uint32_t& value) {
  Fifo& f = core_.fifos[size_t(o.queue)];
  const FifoBinding& b = binding(o);
  value = 0;
  for (int at = 0; at < o.bytes; at += 2) {
    if (!check_address(op, b.address + f.head, 2)) return false;
    value |= load_bits(core_.memory.at(uint32_t(b.address + f.head)), 2) << (8 * at);
    f.head = (f.head + 2) % b.bytes;
  }
  f.fill -= o.bytes;
  return true;
}

bool VectorUnit::write_fifo(const Operation& op, const Operand& o, uint32_t value) {
  Fifo& f = core_.fifos[size_t(o.queue)];
  const FifoBinding& b = binding(o);
  for (int at = 0; at < o.bytes; at += 2) {
    const int to = b.address + (f.head + f.fill) % b.bytes;
    if (!check_address(op, to, 2)) return false;
    store_bits(core_.memory.at(uint32_t(to)), 2, value >> (8 * at));
    if (!core_.memory.unwritten().empty()) core_.memory.unwritten().mark(to, to + 2);
    f.fill += 2;
  }
  return true;
}

}  // namespace cs::sim::structural

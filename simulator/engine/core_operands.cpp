// Operands of vector operations: cursors made from DSRs and registers, and elements read and written through
// them.
//
// 16-bit elements travel one per wavelet (index in the upper half if the DSD gives an offset), or two with
// simd_32/simd_64, the first in the lower half.

#include <algorithm>

#include "simulator/engine/core.h"

namespace cs::sim {

namespace {

// Of the fabric output, or of the others; all ones if there is none.
uint32_t least_extent(const std::array<isa::Dsd, 3>& dsds, const isa::Inst& inst, bool output) {
  uint32_t least = ~0u;
  for (size_t i = 0; i < 3; ++i) {
    const isa::DsdKind kind = dsds[i].kind;
    const bool unlimited = kind == isa::DsdKind::fifo && dsds[i].extent[0] == 0;
    if (inst.args[i].is_dsr() && (kind == isa::DsdKind::fabout) == output && !unlimited)
      least = std::min(least, dsds[i].elements());
  }
  return least;
}

}  // namespace

// The least extent; that of a fabric output counts where nothing else has one.
bool Core::make_operands(VectorOp& op, const isa::Inst& inst, const Decoded& d) {
  const ElementOp& e = *d.element;
  dsds_ = {};
  if (!make_cursor(op, op.dst, inst.args[0], e.dst_bytes, 0)) return false;
  if (e.a_bytes != 0 && !make_cursor(op, op.a, inst.args[1], e.a_bytes, 1)) return false;
  if (e.b_bytes != 0 && !make_cursor(op, op.b, inst.args[2], e.b_bytes, 2)) return false;
  if (e.s_bytes != 0) op.scalar = operand_value(inst.args[3], pe_.regs, e.s_bytes);
  if (d.reduction) op.dst.value = op.a.value;
  op.total = least_extent(dsds_, inst, false);
  if (op.total == ~0u) op.total = least_extent(dsds_, inst, true);
  for (int8_t from : op.saves)
    if (from >= 0 && pe_.dsrs[size_t(from)].config().single_step)
      op.total = std::min({op.total, 1u, pe_.dsrs[size_t(from)].left()});
  if (op.total == ~0u) op.total = 1;
  if (op.dst.kind == Cursor::Kind::fabout) {
    if (isa::row(inst.op).cost == isa::Cost::fp) op.dst.late = uint8_t(world_.machine.ramp.fp_cycles);
    if (dsds_[0].zero == 1) op.a.clears = true;
    if (dsds_[0].zero == 2) (e.b_bytes != 0 ? op.b : op.a).clears = true;
  }
  return true;
}

// `position` 0 is the destination, 1 and 2 the sources.
bool Core::make_cursor(VectorOp& op, Cursor& c, const isa::Operand& o, int bytes, int position) {
  c.bytes = uint8_t(bytes);
  if (!o.is_dsr()) {
    c.kind = position == 0 ? Cursor::Kind::reg : Cursor::Kind::value;
    if (position != 0) c.value = operand_value(o, pe_.regs, bytes);
    return true;
  }
  Dsr& source = dsr(o);
  isa::Dsd& d = dsds_[size_t(position)] = source.dsd.unpacked();
  if (d.kind == isa::DsdKind::mem4d || d.kind == isa::DsdKind::circbuf)
    op.walks.set(size_t(position), {d.kind, uint16_t(d.first), d.extent, d.stride, d.end, source.at});
  op.saves[size_t(position)] = int8_t(&source - pe_.dsrs.data());
  const int start = (d.base + (d.indexed ? 2 * pe_.next_index : 0)) & 0xFFFF;  // the index counts 16-bit words
  switch (d.kind) {
    case isa::DsdKind::mem1d:
    case isa::DsdKind::mem4d: {
      const bool flat = d.kind == isa::DsdKind::mem1d;
      c.kind = flat ? Cursor::Kind::memory : Cursor::Kind::memory4;
      c.address = start;
      c.step = flat ? d.stride[0] * bytes : 1;
      const MemoryGuard::Span span = pe_.tile->guard.span_at(d.base);
      c.low = uint16_t(span.low);
      c.last = uint16_t(span.high - 1);
      return true;
    }
    case isa::DsdKind::fabin:
    case isa::DsdKind::fabout:
      return make_fabric_cursor(c, d, position == 0);
    case isa::DsdKind::circbuf:
      c.kind = Cursor::Kind::ring;
      c.address = d.base;
      c.step = d.stride[0] * bytes;
      return true;
    case isa::DsdKind::fifo:
      c.kind = Cursor::Kind::fifo;
      c.queue = d.queue;
      c.step = 1;
      pe_.test = true;
      if (d.queue < pe_.fifo_count()) return true;
      raise("illegal-instruction", pe_.ready, op.inst, "a FIFO that the program does not have");
      return false;
    case isa::DsdKind::none:
      break;
  }
  raise("illegal-instruction", pe_.ready, op.inst, "a DSR was used before it was loaded");
  return false;
}

bool Core::make_fabric_cursor(Cursor& c, const isa::Dsd& d, bool destination) {
  if (destination != (d.kind == isa::DsdKind::fabout)) {
    raise("illegal-instruction", pe_.ready, pe_.pc,
          destination ? "the destination is a fabin DSD" : "a source is a fabout DSD");
    return false;
  }
  if (destination && !check_id(d.queue, int(world_.machine.queues.output_words.size()), "an output queue", pe_.ready))
    return false;
  if (d.color != isa::kQueueColor && !check_id(d.color, world_.machine.router.colors, "a color", pe_.ready))
    return false;
  c.simd_64 = d.simd == isa::SimdMode::simd_64;
  c.packed = c.bytes == 2 && (d.simd == isa::SimdMode::simd_32 || c.simd_64);
  if (destination) {
    int color = d.color != isa::kQueueColor ? d.color : pe_.settings->output_color[d.queue];
    ColorNode* n = color < 0 ? nullptr : block_.find_node(pe_.index, color);
    if (n != nullptr && block_.config_of(*n).swap_x && block_.config_of(*n).swap_y)
      n = block_.find_node(pe_.index, color ^= 1);
    c.kind = Cursor::Kind::fabout;
    c.queue = d.queue;
    c.color = uint8_t(color);
    c.control = d.control;
    c.advance = d.advance_switch;
    c.transform = d.control_transform;
    c.indexed = c.bytes == 2 && !c.packed && d.indexed;
    c.index = pe_.next_index;
    c.set_lane(n ? block_.lane_of(*n, Port::ramp) : ~0u);
    if (c.lane() != ~0u) return true;
    raise("illegal-instruction", pe_.ready, pe_.pc,
          color < 0 ? "output queue " + std::to_string(d.queue) + " has no color"
                    : "color " + std::to_string(color) + " has no route from RAMP at this PE");
    return false;
  }
  c.kind = Cursor::Kind::fabin;
  c.transform = d.control_transform;
  c.drops = d.zero != 0;
  uint8_t queue = 0xFF;
  if (d.color != isa::kQueueColor) {
    queue = pe_.input_of_color[d.color];
    ColorNode* n = queue == 0xFF ? block_.find_node(pe_.index, d.color) : nullptr;
    if (n != nullptr) queue = block_.resolve_queue(*n);
  } else {
    for (size_t i = 0; i < pe_.inputs.size(); ++i)
      if (pe_.inputs[i].id == d.queue) queue = uint8_t(i);
  }
  if (queue == 0xFF) {
    raise("illegal-instruction", pe_.ready, pe_.pc,
          d.color != isa::kQueueColor ? "color " + std::to_string(d.color) + " has no route to this PE"
                                      : "input queue " + std::to_string(d.queue) + " has no color");
    return false;
  }
  c.queue = queue;
  return true;
}

// ---- elements

// control_transform: the two upper bits of the word say whether it was a control wavelet.
namespace {
constexpr uint32_t kTransformed = 0xC0000000;
}

uint32_t Core::transformed(Entry e) const {
  const uint32_t data = entry_data(e) & ~kTransformed;
  return e & kEntryControl ? (data ^ uint32_t(pe_.settings->transform_mask) << 16) | kTransformed : data;
}

void Core::advance_cursor(Cursor& c, Walk& d) {
  if (c.kind == Cursor::Kind::memory) {
    c.address = (c.address + c.step) & 0xFFFF;
    return;
  }
  if (c.kind == Cursor::Kind::ring) {
    c.address += c.step;
    if (c.address >= int32_t(d.end)) c.address -= int32_t(d.end - d.first);
    return;
  }
  for (size_t k = 4; k-- > 0;) {
    if (++d.at[k] < d.extent[k]) {
      c.address = (c.address + d.stride[k] * c.bytes) & 0xFFFF;
      return;
    }
    d.at[k] = 0;
  }
}

bool Core::read_element(VectorOp& op, Cursor& c, int position, uint32_t element, uint32_t& value) {
  switch (c.kind) {
    case Cursor::Kind::fifo:
      value = read_fifo(op, c);
      return !faulted_;
    case Cursor::Kind::memory:
    case Cursor::Kind::ring:
    case Cursor::Kind::memory4: {
      if (!check_access(op, c, true, element)) return false;
      const uint8_t* m = pe_.memory.at(uint32_t(c.address));
      value = load_bits(m, c.bytes);
      if (c.clears) std::fill_n(pe_.memory.at(uint32_t(c.address)), c.bytes, uint8_t(0));
      advance_cursor(c, op.walks[size_t(position)]);
      return true;
    }
    case Cursor::Kind::fabin:
      if (c.half == 0) {
        c.value = c.transform ? transformed(pe_.inputs[c.queue].front()) : entry_data(pe_.inputs[c.queue].front());
        pop_input(c.queue);
      }
      value = c.bytes == 4 ? c.value : (c.half ? c.value >> 16 : c.value & 0xFFFF);
      if (c.packed) c.half ^= 1;
      return true;
    default:
      value = c.value;
      return true;
  }
}

bool Core::write_element(VectorOp& op, uint32_t value, uint32_t element) {
  const bool last = element + 1 == op.total;
  Cursor& c = op.dst;
  switch (c.kind) {
    case Cursor::Kind::fifo:
      write_fifo(op, c, value);
      return !faulted_;
    case Cursor::Kind::memory:
    case Cursor::Kind::ring:
    case Cursor::Kind::memory4: {
      if (!check_access(op, c, false, element)) return false;
      if (logging_) log_memory(uint32_t(c.address), c.bytes);
      store_bits(pe_.memory.at(uint32_t(c.address)), c.bytes, value);
      advance_cursor(c, op.walks[0]);
      return true;
    }
    case Cursor::Kind::fabout:
      if (c.bytes == 4) {
        write_fabric(c, value, last);
      } else if (!c.packed) {
        write_fabric(c, (value & 0xFFFF) | (c.indexed ? uint32_t(c.index) << 16 : 0), last);
      } else {
        c.value = c.half ? c.value | value << 16 : value & 0xFFFF;
        if (c.half || last) write_fabric(c, c.value, last);
        c.half ^= 1;
      }
      return true;
    default:
      c.value = value;
      return true;
  }
}

// When what the datapath computes now lands in the router's ramp lane: behind what the core has sent on the
// color before, in a cycle in which the ramp carries nothing else.
Cycle Core::landing(const Cursor& c) {
  const Machine& m = world_.machine;
  Cycle at = now_ + 1 + Cycle(m.ramp.up_cycles) + c.late;
  const bool one = m.ramp.wavelets_per_cycle == 1;
  const Lane& lane = block_.lanes[c.lane()];
  if (lane.count != 0) at = std::max(at, now_ + entry_wait(block_.lane_back(lane), now_) + Cycle(one));
  if (!one) return at;
  const Cycle passed = now_ - pe_.ramp_base;
  pe_.ramp_base = now_;
  pe_.ramp_taken = passed < 64 ? pe_.ramp_taken >> passed : 0;
  while (at - now_ < 64 && (pe_.ramp_taken >> (at - now_) & 1)) ++at;
  if (at - now_ < 64) pe_.ramp_taken |= uint64_t(1) << (at - now_);
  return at;
}

void Core::write_fabric(Cursor& c, uint32_t word, bool last) {
  const Cycle lands = landing(c);
  Entry flags = (c.control ? kEntryControl : 0) | (c.advance && last ? kEntryAdvance : 0);
  if (c.transform) {
    if ((word & kTransformed) == kTransformed) flags |= kEntryControl;
    word &= ~kTransformed;
  }
  block_.push_lane(c.lane(), make_entry(word, flags, lands), lands);
  if (world_.details) [[unlikely]]
    world_.details->send({pe_.at, now_, lands, c.color, c.queue, c.control, word});
  ++pe_.stats.injected;
}

void Core::execute_elements(VectorOp& op, uint32_t count) {
  const ElementOp& e = *op.element;
  if (pe_.memory.empty()) block_.ensure_memory(pe_);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t a = 0, b = 0;
    if (e.a_bytes != 0 && !read_element(op, op.a, 1, op.done + i, a)) return;
    if (e.b_bytes != 0 && !read_element(op, op.b, 2, op.done + i, b)) return;
    if (op.reduction) a = op.dst.value;
    if (e.uses_carry) b |= uint32_t(pe_.regs.carry) << 16;
    uint32_t value = e.fn(a, b, op.scalar, 0);
    if (e.sets_carry) {
      pe_.regs.carry = value >> 16 & 1;
      value &= 0xFFFF;
    }
    if (!write_element(op, value, op.done + i)) return;
  }
}

// The tight loops for 1-D operands; false if an operand is of another kind.
bool Core::run_memory_fast(VectorOp& op, uint32_t count) {
  auto usable = [](const Cursor& c) {
    return c.kind != Cursor::Kind::memory4 && c.kind != Cursor::Kind::ring;
  };
  if (!usable(op.dst) || !usable(op.a) || !usable(op.b)) return false;
  auto operand = [](const Cursor& c) {
    return VectorOperand{c.kind == Cursor::Kind::memory, uint16_t(c.address), c.step, c.value};
  };
  MemoryVector v{operand(op.dst), operand(op.a), operand(op.b), op.scalar, count, op.reduction};
  if (op.reduction) v.a.bits = op.dst.value;
  isa::Op code = pe_.tile->program->code[op.inst].op;
  block_.ensure_memory(pe_);
  for (const Cursor* c : {&op.dst, &op.a, &op.b}) {
    if (c->kind != Cursor::Kind::memory) continue;
    const int64_t last = c->address + int64_t(c->step) * (count - 1);
    const int64_t low = std::min<int64_t>(c->address, last), end = std::max<int64_t>(c->address, last) + c->bytes;
    const bool wraps = last < 0 || end > 0x10000;  // then they may be anywhere
    grow_memory(wraps ? 0 : uint32_t(low), wraps ? 0x10000 : uint32_t(end));
  }
  bool by_element = false;
  if (!guard_vector(op, count, by_element)) return true;
  if (by_element) return false;
  if (logging_) log_vector(op, count);
  VectorResult result = execute_memory_vector(code, v, pe_.memory.view(), pe_.tile->program->fp16, pe_.regs.carry);
  if (result.fault != ExecFault::none) {
    raise("out-of-bounds", op.next + result.executed / op.group * op.group_cycles, op.inst,
          "element " + std::to_string(op.done + result.executed) + " at address " +
              std::to_string(result.address) +
              (result.fault == ExecFault::misaligned ? " is misaligned" : ""));
    return true;
  }
  for (Cursor* c : {&op.dst, &op.a, &op.b})
    if (c->kind == Cursor::Kind::memory) c->address = (c->address + c->step * int32_t(count)) & 0xFFFF;
  op.dst.value = v.dst.bits;
  return true;
}

void Core::save_addresses(VectorOp& op) {
  const Cursor* cursors[3] = {&op.dst, &op.a, &op.b};
  for (size_t i = 0; i < 3; ++i) {
    const Walk& d = std::as_const(op).walks[i];
    // Each descriptor register was loaded with its own configuration: only those that asked walk on.
    if (op.saves[i] < 0 || !in_memory(*cursors[i]) || is_fifo(*cursors[i])) continue;
    if (!pe_.dsrs[size_t(op.saves[i])].config().save_address) continue;
    int address = cursors[i]->address;
    if (d.kind == isa::DsdKind::mem4d) {  // one step of the outermost dimension behind the last element
      size_t outer = 0;
      while (outer < 3 && d.extent[outer] == 1 && d.stride[outer] == 0) ++outer;
      address += d.stride[outer] * cursors[i]->bytes;
    }
    pe_.dsrs[size_t(op.saves[i])].dsd.base = uint16_t(address);
  }
}

void Core::step_registers(const VectorOp& op) {
  const Cursor* cursors[3] = {&op.dst, &op.a, &op.b};
  for (size_t i = 0; i < 3; ++i) {
    if (op.saves[i] < 0 || op.done == 0) continue;
    Dsr& dsr = pe_.dsrs[size_t(op.saves[i])];
    if (!dsr.config().single_step) continue;
    if (dsr.dsd.unpacked().in_memory()) dsr.dsd.base = uint16_t(cursors[i]->address);
    dsr.at = op.walks[i].at;
    ++dsr.stepped;
  }
}

}  // namespace cs::sim

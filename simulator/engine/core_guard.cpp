// What a program may not do with memory: leave it, leave the variable that an operation starts in, read
// what nothing has written (guard.h).
// Operations on whole ranges are checked once; element by element only where order matters.

#include <fmt/format.h>

#include <algorithm>

#include "simulator/engine/core.h"

namespace cs::sim {

bool Core::leaves_variable(const VectorOp& op, const Cursor& c, int64_t address, uint32_t element, Cycle at) {
  if (block_.let_pass(Allowable::out_of_bounds)) return false;
  const MemoryGuard::Span span = pe_.tile->guard.span_at(c.low);
  const std::string name = span.section ? "'" + span.section->name + "'" : "the variable";
  raise("out-of-bounds", at, op.inst,
        fmt::format("element {} of {} lies at address {}, outside {}, which has {} bytes at {} to {}", element,
                    op.total, address, name, c.high() - c.low, c.low, c.last));
  return true;
}

bool Core::reads_unwritten(int64_t low, int64_t high, uint32_t inst, Cycle at) {
  const int64_t found = pe_.unwritten.find(low, high);
  if (found < 0 || block_.let_pass(Allowable::uninitialised_read)) return false;
  const MemoryGuard::Span span = pe_.tile->guard.span_at(uint32_t(found));
  raise("uninitialised-read", at, inst,
        fmt::format("{} is read at address {} before anything was written there",
                    span.section ? fmt::format("'{}', {} bytes from its start,", span.section->name,
                                               found - int64_t(span.low))
                                 : std::string("memory"),
                    found));
  return true;
}

bool Core::check_memory(const VectorOp& op, int32_t address, int bytes) {
  if (address & 1) {
    raise("out-of-bounds", now_, op.inst, "misaligned access to address " + std::to_string(address));
    return false;
  }
  if (grow_memory(uint32_t(address), uint32_t(address + bytes))) return true;
  raise("out-of-bounds", now_, op.inst,
        fmt::format("element at address {}; the memory has {} bytes", address,
                    world_.machine.core.memory_bytes));
  return false;
}

// One element.
bool Core::check_access(const VectorOp& op, const Cursor& c, bool read, uint32_t element) {
  const int64_t address = c.address, end = address + c.bytes;
  const bool inside = address >= int64_t(c.low) && end <= int64_t(c.high());
  if (!inside && end <= world_.machine.core.memory_bytes && leaves_variable(op, c, address, element, now_))
    return false;
  if (!check_memory(op, c.address, c.bytes)) return false;
  if (pe_.unwritten.empty() || !pe_.unwritten.touches(address, end)) return true;
  if (read) return !reads_unwritten(address, end, op.inst, now_);
  pe_.unwritten.mark(address, end);
  return true;
}

// A 1-D operation on memory over `count` elements. False after a fault; `by_element`: elements that the
// operation writes are among those it reads later, and not all of them have a value yet.
bool Core::guard_vector(const VectorOp& op, uint32_t count, bool& by_element) {
  struct Range {
    int64_t low = 0, high = 0;
  };
  const auto range = [&](const Cursor& c) {
    const int64_t last = c.address + int64_t(c.step) * (count - 1);
    return Range{std::min<int64_t>(c.address, last), std::max<int64_t>(c.address, last) + c.bytes};
  };
  for (const Cursor* c : {&op.a, &op.b, &op.dst}) {
    if (c->kind != Cursor::Kind::memory) continue;
    const Range r = range(*c);
    if (r.low >= int64_t(c->low) && r.high <= int64_t(c->high())) continue;
    if (r.low < 0 || r.high > world_.machine.core.memory_bytes) continue;  // found by the access itself
    int64_t i = 0;
    const auto inside = [&](int64_t at) { return at >= int64_t(c->low) && at + c->bytes <= int64_t(c->high()); };
    while (inside(c->address + i * c->step)) ++i;
    const Cycle at = op.next + Cycle(i) / op.group * op.group_cycles;
    if (leaves_variable(op, *c, c->address + i * c->step, op.done + uint32_t(i), at)) return false;
  }
  if (pe_.unwritten.empty()) return true;
  const bool writes = op.dst.kind == Cursor::Kind::memory;
  const Range d = writes ? range(op.dst) : Range{};
  for (const Cursor* c : {&op.a, &op.b}) {
    if (c->kind != Cursor::Kind::memory) continue;
    const Range r = range(*c);
    if (!pe_.unwritten.touches(r.low, r.high) || pe_.unwritten.find(r.low, r.high) < 0) continue;
    if (c->step != c->bytes || (writes && d.low < r.high && r.low < d.high)) {
      by_element = true;
      return true;
    }
    const int64_t element = (pe_.unwritten.find(r.low, r.high) - c->address) / c->bytes;
    const Cycle at = op.next + Cycle(element) / op.group * op.group_cycles;
    if (reads_unwritten(r.low, r.high, op.inst, at)) return false;
  }
  if (writes && pe_.unwritten.touches(d.low, d.high)) {
    if (op.dst.step != op.dst.bytes)
      by_element = true;  // only some words of the range
    else
      pe_.unwritten.mark(d.low, d.high);
  }
  return true;
}

// A load or store of one value.
bool Core::guard_scalar(const isa::Inst& inst, const ScalarPlan& plan, Cycle t) {
  const bool load = plan.kind == ScalarPlan::Kind::load;
  const size_t memory = load ? 1 : 0;  // place of the operand pair (base, offset)
  const int64_t address = (value16(inst.args[memory]) + uint32_t(inst.args[memory + 1].value)) & 0xFFFF;
  const int64_t end = address + plan.bytes;
  if (!pe_.unwritten.touches(address, end)) return true;
  if (load) return !reads_unwritten(address, end, pe_.pc, t);
  pe_.unwritten.mark(address, end);
  return true;
}

}  // namespace cs::sim

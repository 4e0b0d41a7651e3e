// Operations on memory with operands of several dimensions, and sums into one place: row by row.
//
// The rows of the sources are gathered into a local array, the vector over it is computed in one go
// (simulator/exec/vector.cpp), and the result is scattered. That gives what element order gives if every element lies
// in its variable and has a value, and if the destination
//   - never comes back to a place, and a source is either the same walk or lies elsewhere; or
//   - stands still and is the first source as well: a running value.
// Everything else is for execute_elements.
#include <algorithm>
#include <cstring>

#include "simulator/engine/core.h"
#include "simulator/exec/memory.h"

namespace cs::sim {

namespace {

constexpr uint32_t kChunk = 256;  // elements in the local arrays
constexpr uint32_t kWorthwhile = 8;

bool is_walk(const Cursor& c) { return c.kind == Cursor::Kind::memory || c.kind == Cursor::Kind::memory4; }

// How far the whole walk of an operand reaches, whether every step goes up, whether it never moves.
struct Reach {
  int64_t low = 0, high = 0;  // bytes [low, high)
  bool rises = true, stands = true;
};

Reach reach_of(const Cursor& c, const Walk& d, uint32_t count) {
  Reach r{c.address, c.address};
  auto axis = [&](int64_t step, int64_t extent) {
    (step < 0 ? r.low : r.high) += step * (extent - 1);
    r.stands = r.stands && (step == 0 || extent == 1);
  };
  if (c.kind == Cursor::Kind::memory) {
    axis(c.step, count);
    r.rises = c.step > 0;
  } else {
    int64_t back = 0;  // what a step of a dimension includes for going back to the start of the inner ones
    for (size_t k = 4; k-- > 0;) {
      const int64_t move = int64_t(d.stride[k]) * c.bytes, step = move + back, extent = d.extent[k];
      r.low -= step * d.at[k];
      r.high -= step * d.at[k];
      axis(step, extent);
      r.rises = r.rises && (extent == 1 || move > 0);
      back += step * (extent - 1);
    }
  }
  r.high += c.bytes;
  return r;
}

bool same_walk(const Cursor& a, const Walk& da, const Cursor& b, const Walk& db) {
  if (a.kind != b.kind || a.address != b.address || a.bytes != b.bytes) return false;
  if (a.kind == Cursor::Kind::memory) return a.step == b.step;
  return da.at == db.at && da.extent == db.extent && da.stride == db.stride;
}

}  // namespace

// Calls row(address, step, n) for every row of the next `count` elements.
template <class Row>
void Core::each_row(Cursor& c, Walk& d, uint32_t count, const Row& row) {
  while (count > 0) {
    const bool flat = c.kind == Cursor::Kind::memory;
    const uint32_t n = flat ? count : std::min<uint32_t>(count, uint32_t(d.extent[3]) - d.at[3]);
    const int32_t step = flat ? c.step : d.stride[3] * c.bytes;
    row(c.address, step, n);
    c.address += step * int32_t(n - 1);
    if (!flat) d.at[3] = uint16_t(d.at[3] + n - 1);
    advance_cursor(c, d);
    count -= n;
  }
}

void Core::gather_rows(Cursor& c, Walk& d, uint32_t count, uint8_t* out) {
  const PeMemory& memory = pe_.memory;
  each_row(c, d, count, [&](int32_t address, int32_t step, uint32_t n) {
    if (step == c.bytes) {
      std::memcpy(out, memory.at(uint32_t(address)), size_t(n) * c.bytes);
      out += size_t(n) * c.bytes;
      return;
    }
    for (uint32_t i = 0; i < n; ++i, address += step, out += c.bytes)
      std::memcpy(out, memory.at(uint32_t(address)), c.bytes);
  });
}

void Core::scatter_rows(Cursor& c, Walk& d, uint32_t count, const uint8_t* in) {
  PeMemory& memory = pe_.memory;
  each_row(c, d, count, [&](int32_t address, int32_t step, uint32_t n) {
    if (step == c.bytes) {
      std::memcpy(memory.at(uint32_t(address)), in, size_t(n) * c.bytes);
      in += size_t(n) * c.bytes;
      return;
    }
    for (uint32_t i = 0; i < n; ++i, address += step, in += c.bytes)
      std::memcpy(memory.at(uint32_t(address)), in, c.bytes);
  });
}

// Every element lies in its variable and in memory, the sources have values, the destination has had some.
bool Core::rows_are_plain(const VectorOp& op, const Cursor& c, uint32_t count, bool& rises, bool& stands) {
  const Reach r = reach_of(c, op.walks[&c == &op.dst ? 0 : &c == &op.a ? 1 : 2], count);
  rises = r.rises;
  stands = r.stands;
  if ((c.address & 1) != 0 || (c.kind == Cursor::Kind::memory && (c.step & 1) != 0)) return false;
  if (r.low < int64_t(c.low) || r.high > int64_t(c.high())) return false;
  if (r.low < 0 || !grow_memory(uint32_t(r.low), uint32_t(r.high))) return false;
  return pe_.unwritten.empty() || !pe_.unwritten.touches(r.low, r.high) ||
         pe_.unwritten.find(r.low, r.high) < 0;
}

// False if the operation is none of those described above; then nothing has changed.
bool Core::run_memory_rows(VectorOp& op, uint32_t count) {
  if (count < kWorthwhile || op.reduction || !is_walk(op.dst) || op.element->uses_carry) return false;
  block_.ensure_memory(pe_);
  bool rises = false, stands = false, ignored = false;
  if (!rows_are_plain(op, op.dst, count, rises, stands)) return false;
  const Reach dst = reach_of(op.dst, op.walks[0], count);
  const bool running = stands && is_walk(op.a) && same_walk(op.dst, op.walks[0], op.a, op.walks[1]);
  if (!rises && !running) return false;
  const Cursor* sources[] = {&op.a, &op.b};
  for (size_t k = 0; k < 2; ++k) {
    const Cursor& c = *sources[k];
    if (c.kind == Cursor::Kind::none || c.kind == Cursor::Kind::value) continue;
    if (!is_walk(c) || c.clears || !rows_are_plain(op, c, count, ignored, ignored)) return false;
    if (k == 0 && running) continue;
    const Reach src = reach_of(c, op.walks[k + 1], count);
    const bool apart = src.high <= dst.low || dst.high <= src.low;
    if (!apart && (running || !same_walk(op.dst, op.walks[0], c, op.walks[k + 1]))) return false;
  }
  if (running && !is_walk(op.b)) return false;
  if (logging_) log_memory(uint32_t(dst.low), uint32_t(dst.high - dst.low));
  for (uint32_t done = 0; done < count; done += kChunk)
    rows_chunk(op, std::min(kChunk, count - done), running);
  return true;
}

void Core::rows_chunk(VectorOp& op, uint32_t count, bool running) {
  constexpr size_t kPart = size_t(kChunk) * 4;
  alignas(64) std::array<uint8_t, 3 * kPart> local;
  MemoryVector v;
  v.s = op.scalar;
  v.count = count;
  auto source = [&](Cursor& c, size_t position, VectorOperand& to) {
    to.bits = c.value;
    if (!is_walk(c)) return;
    gather_rows(c, op.walks[position], count, local.data() + position * kPart);
    to = {true, uint16_t(position * kPart), c.bytes, 0};
  };
  source(op.b, 2, v.b);
  if (running) {
    v.reduction = true;
    v.a.bits = load_bits(pe_.memory.at(uint32_t(op.dst.address)), op.dst.bytes);
  } else {
    source(op.a, 1, v.a);
    v.dst = {true, 0, op.dst.bytes, 0};
  }
  const isa::Op code = pe_.tile->program->code[op.inst].op;
  execute_memory_vector(code, v, local, pe_.tile->program->fp16, pe_.regs.carry);
  if (!running) return scatter_rows(op.dst, op.walks[0], count, local.data());
  store_bits(pe_.memory.at(uint32_t(op.dst.address)), op.dst.bytes, v.dst.bits);
  auto skip = [](int32_t, int32_t, uint32_t) {};
  each_row(op.dst, op.walks[0], count, skip);
  each_row(op.a, op.walks[1], count, skip);
}

}  // namespace cs::sim

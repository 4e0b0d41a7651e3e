// Element groups by the machine's rates, and threads at the datapath.
#include "compiler/csl/walk_thread.h"

#include <algorithm>
#include <span>

#include "runtime/isa/bank_cycles.h"
#include "runtime/isa/dsr_merge.h"

namespace cs::csl {

namespace {

using isa::DsdKind;

struct Operands {
  std::array<const WalkDsr*, 3> dsr{};  // destination, sources; null: a register or literal
  std::array<int, 3> bytes{};           // of an element
  size_t count = 1;                     // those that the instruction has
  bool is(size_t k, DsdKind kind) const { return dsr[k] != nullptr && dsr[k]->dsd.kind == kind; }
  bool in_memory(size_t k) const {
    return dsr[k] != nullptr && (dsr[k]->dsd.in_memory() || dsr[k]->dsd.kind == DsdKind::fifo);
  }
  bool on_fabric(size_t k) const { return dsr[k] != nullptr && dsr[k]->dsd.is_fabric(); }
  bool packed(size_t k) const {
    return on_fabric(k) && bytes[k] == 2 &&
           (dsr[k]->dsd.simd == isa::SimdMode::simd_32 || dsr[k]->dsd.simd == isa::SimdMode::simd_64);
  }
  bool wide(size_t k) const { return dsr[k]->dsd.simd == isa::SimdMode::simd_64; }
};

Operands operands_of(const isa::Inst& inst, WalkRegisters& registers) {
  Operands o;
  const isa::Row& row = isa::row(inst.op);
  for (size_t k = 0; k < 3 && k < row.form.size(); ++k) {
    if (row.form[k] == 'S' || isa::operand_bytes(inst.op, int(k)) == 0) break;
    o.count = k + 1;
    o.bytes[k] = isa::operand_bytes(inst.op, int(k));
    if (inst.args[k].is_dsr()) o.dsr[k] = &registers.at(inst.args[k]);
  }
  return o;
}

// The least extent; that of a fabric output counts where nothing else has one.
uint64_t elements_of(const Operands& o) {
  uint64_t least = kWalkNever, sent = kWalkNever;
  for (size_t k = 0; k < o.count; ++k) {
    if (o.dsr[k] == nullptr) continue;
    const isa::Dsd& d = o.dsr[k]->dsd;
    if (d.kind == DsdKind::fifo && d.extent[0] == 0) continue;
    uint64_t& to = d.kind == DsdKind::fabout ? sent : least;
    to = std::min<uint64_t>(to, d.elements());
    if (o.dsr[k]->config.single_step) to = std::min<uint64_t>(to, 1);
  }
  return least != kWalkNever ? least : sent != kWalkNever ? sent : 1;
}

// Of rows that do not follow each other the first stride does not count: they move.
isa::BankWalk bank_walk(const Operands& o, size_t k) {
  if (k >= o.count || !o.in_memory(k)) return {};
  const isa::Dsd& d = o.dsr[k]->dsd;
  return {int32_t(d.base),
          d.kind == DsdKind::mem4d || d.kind == DsdKind::fifo ? 1 : d.stride[0] * o.bytes[k]};
}

// A running value in a register: the destination is a register, the second source walks.
bool reduces(const Operands& o) {
  return o.dsr[0] == nullptr && o.count >= 3 && o.dsr[1] == nullptr && o.dsr[2];
}

void set_group(const isa::Inst& inst, const Operands& o, const Machine& m, const SimdWidths& widths, WalkVector& v) {
  const Machine::Core& core = m.core;
  const isa::Row& row = isa::row(inst.op);
  int group = widths.of(inst.op), read = 0;
  bool fabric = false, packed = false, wide = true;
  for (size_t k = 0; k < o.count; ++k) {
    if (k > 0 && o.in_memory(k)) read += o.bytes[k];
    if (!o.on_fabric(k)) continue;
    fabric = true;
    packed = packed || o.packed(k);
    wide = wide && o.wide(k);
  }
  wide = wide && packed;
  const int write = o.in_memory(0) ? o.bytes[0] : 0, ramp = m.ramp.wavelets_per_cycle;
  const int wavelets = wide ? std::max(2, ramp) : ramp;
  if (fabric) group = packed ? std::clamp(group, 2, 2 * wavelets) : std::min(group, ramp);
  if (packed) group = std::max(group, 2);
  if (o.dsr[0] == nullptr) group = packed ? 2 : 1;
  v.group = uint32_t(std::max(1, group));
  const auto cycles = [&](int bytes, int rate) { return (int(v.group) * bytes + rate - 1) / rate; };
  const int at_memory =
      std::max(cycles(read, core.read_bytes_per_cycle), cycles(write, core.write_bytes_per_cycle));
  v.cycles = uint32_t(std::max(1, at_memory));
  v.holds = v.cycles > 1;
  const bool add = inst.op != isa::Op::fmaxs && inst.op != isa::Op::fmaxh;
  if (reduces(o) && add && row.cost == isa::Cost::fp)
    v.cycles = uint32_t(std::max(1, core.reduction_cycles_per_element));
  const int moving = int(std::max(1, at_memory));
  const auto with_banks =
      uint32_t(isa::with_banks(core, bank_walk(o, 0), bank_walk(o, 1), bank_walk(o, 2),
                               cycles(read, core.read_bytes_per_cycle), moving, int(v.cycles)));
  v.holds |= with_banks != v.cycles;
  v.cycles = with_banks;
  // The ramp carries a wide group's wavelets one after the other.
  if (wide) v.cycles = std::max(v.cycles, uint32_t(std::max(1, wavelets / std::max(1, ramp))));
}

int microthread_of(const Operands& o, const WalkVector& v, const TileProgram& tile, const Machine& m) {
  if (v.config.microthread >= 0) return v.config.microthread;
  for (size_t k = 0; k < o.count; ++k)
    if (o.dsr[k] != nullptr && o.dsr[k]->dsd.microthread >= 0) return o.dsr[k]->dsd.microthread;
  const int threads = std::max(1, m.core.microthreads);
  if (o.is(0, DsdKind::fabout)) return o.dsr[0]->dsd.queue % threads;
  for (size_t k = 1; k < o.count; ++k) {
    if (!o.is(k, DsdKind::fabin)) continue;
    const isa::Dsd& d = o.dsr[k]->dsd;
    if (d.color == isa::kQueueColor) return d.queue % threads;
    for (const QueueBinding& q : tile.queues)
      if (!q.output && q.color == d.color) return q.queue % threads;
    return d.color % threads;
  }
  return 0;
}

int color_of(const Operands& o, const TileProgram& tile) {
  for (size_t k = 1; k < o.count; ++k) {
    if (!o.is(k, DsdKind::fabin)) continue;
    const isa::Dsd& d = o.dsr[k]->dsd;
    if (d.color != isa::kQueueColor) return d.color;
    for (const QueueBinding& q : tile.queues)
      if (!q.output && q.queue == d.queue) return q.color;
  }
  return -1;
}

int rank_of(const Operands& o, const WalkVector& v, const TileProgram& tile) {
  int priority = v.config.priority;
  for (size_t k = 0; k < o.count; ++k)
    if (priority == 0 && o.dsr[k] != nullptr) priority = o.dsr[k]->dsd.priority;
  for (size_t k = 1; k < o.count; ++k) {
    if (priority != 0 || !o.is(k, DsdKind::fabin)) continue;
    const isa::Dsd& d = o.dsr[k]->dsd;
    for (const QueueBinding& q : tile.queues)
      if (!q.output && (d.color == isa::kQueueColor ? q.queue == d.queue : q.color == d.color))
        priority = q.priority;
  }
  return 2 * std::max(1, priority);
}

// Bytes from the first place to the last one that a walk over `elements` comes to, and where it ends.
struct Span {
  int64_t low = 0, high = 0, end = 0;
};
Span span_of(const isa::Dsd& d, int bytes, uint64_t elements) {
  Span s;
  const int64_t base = d.base;
  if (d.kind != DsdKind::mem4d) {
    const int64_t step = int64_t(d.stride[0]) * bytes, last = step * int64_t(elements > 0 ? elements - 1 : 0);
    return {base + std::min<int64_t>(0, last), base + std::max<int64_t>(0, last) + bytes,
            base + step * int64_t(elements)};
  }
  s.low = s.high = s.end = base;
  int64_t back = 0, rounds = 1;
  for (size_t k = 4; k-- > 0;) {
    const int64_t step = int64_t(d.stride[k]) * bytes + back, n = int64_t(d.extent[k]) - 1;
    (step < 0 ? s.low : s.high) += step * n;
    back += step * n;
  }
  for (size_t k = 0; k < 4; ++k) {
    s.end += int64_t(d.stride[k]) * bytes * (int64_t(d.extent[k]) - 1) * rounds;
    rounds *= d.extent[k];
  }
  size_t outer = 0;
  while (outer < 3 && d.extent[outer] == 1 && d.stride[outer] == 0) ++outer;
  s.high += bytes;
  s.end += int64_t(d.stride[outer]) * bytes;
  return s;
}

}  // namespace

// ---- descriptor registers

WalkRegisters::WalkRegisters(const TileProgram& tile) {
  for (const DsrInit& d : tile.dsrs) {
    if (d.file >= files_.size() || d.index >= files_[d.file].size()) continue;
    WalkDsr& to = files_[d.file][d.index];
    to.dsd = isa::decode(std::span<const uint16_t>(d.words));
    to.config = isa::decode_config(d.config);
  }
}

WalkDsr& WalkRegisters::at(const isa::Operand& o) {
  return files_[size_t(o.kind) - size_t(isa::OperandKind::dest)][size_t(o.value) % 64];
}

uint64_t WalkRegisters::signature() const {
  uint64_t sum = 0;
  for (const auto& file : files_)
    for (const WalkDsr& d : file) sum = sum * 0x100000001B3 + d.dsd.base + (uint64_t(d.dsd.extent[0]) << 20);
  return sum;
}

// ---- operations

SimdWidths::SimdWidths(const Machine& machine) {
  for (size_t op = 0; op < of_.size(); ++op) of_[op] = machine.simd(std::string(isa::row(isa::Op(op)).mnemonic));
}

WalkVector walk_vector(const isa::Inst& inst, WalkRegisters& registers, const TileProgram& tile, const Machine& m,
                       const SimdWidths& widths, int main_priority) {
  WalkVector v;
  const Operands o = operands_of(inst, registers);
  bool first = true;
  for (size_t k = 0; k < o.count; ++k) {
    if (o.dsr[k] == nullptr) continue;
    v.config = first ? o.dsr[k]->config : isa::merge(v.config, o.dsr[k]->config);
    v.known = v.known && o.dsr[k]->known && o.dsr[k]->dsd.kind != DsdKind::none;
    first = false;
  }
  v.elements = elements_of(o);
  v.color = color_of(o, tile);
  set_group(inst, o, m, widths, v);
  v.thread = v.config.async ? microthread_of(o, v, tile, m) : kWalkMain;
  constexpr int kMainRank = 3;  // between low and medium
  v.rank = v.config.async ? rank_of(o, v, tile) : kMainRank + main_priority;
  return v;
}

void walk_effects(const isa::Inst& inst, const WalkVector& v, WalkRegisters& registers, WalkState& state) {
  const isa::Row& row = isa::row(inst.op);
  if (!inst.args[0].is_dsr()) state.forget(inst.args[0]);
  for (size_t k = 0; k < 3 && k < row.form.size(); ++k) {
    if (!inst.args[k].is_dsr()) continue;
    WalkDsr& d = registers.at(inst.args[k]);
    if (!d.dsd.in_memory()) continue;
    const Span s = span_of(d.dsd, std::max(2, isa::operand_bytes(inst.op, int(k))), v.elements);
    if (k == 0 && s.high > s.low) state.forget(uint32_t(s.low) & 0xFFFF, uint32_t(s.high - s.low));
    if (d.config.save_address || d.config.single_step) d.dsd.base = uint16_t(s.end);
  }
}

// ---- the datapath

void WalkDatapath::add(const WalkOp& op) { ops_.push_back(op); }

bool WalkDatapath::busy(int thread) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const WalkOp& op) { return op.thread == thread; });
}

uint64_t WalkDatapath::signature() const {
  uint64_t sum = 0;
  for (const WalkOp& op : ops_) sum += (uint64_t(op.inst) + 1) * 0x9E3779B97F4A7C15;
  return sum;
}

bool WalkDatapath::run(WalkCycle until) {
  while (!ops_.empty()) {
    WalkCycle t = kWalkNever;
    for (const WalkOp& op : ops_) t = std::min(t, op.next);
    t = std::max(t, free_);
    if (t >= until) return false;
    size_t best = ops_.size();
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].next > t) continue;
      const auto before = [&](const WalkOp& a, const WalkOp& b) {
        return a.rank != b.rank ? a.rank > b.rank : a.served < b.served;
      };
      if (best == ops_.size() || before(ops_[i], ops_[best])) best = i;
    }
    WalkOp& op = ops_[best];
    // As many groups as nobody else interrupts.
    WalkCycle limit = until;
    for (size_t i = 0; i < ops_.size(); ++i)
      if (i != best && (ops_[i].rank >= op.rank || (op.cycles > 1 && !op.holds)))
        limit = std::min(limit, std::max(ops_[i].next, t + 1));
    const uint64_t groups = std::max<uint64_t>(
        1, std::min(op.left, limit == kWalkNever ? op.left : (limit - t + op.cycles - 1) / op.cycles));
    op.left -= groups;
    op.served = t + (groups - 1) * op.cycles;
    op.next = t + groups * op.cycles;
    free_ = op.holds ? op.next : op.served + 1;
    (op.thread == kWalkMain ? main_cycles : async_cycles) += groups * (op.holds ? op.cycles : 1);
    if (op.left > 0) continue;
    const WalkOp ended = op;
    const WalkCycle last = op.next - 1, start = WalkCycle(std::max(1, machine_.core.dsd_start_cycles));
    last_ = std::max(last_, last);
    ops_.erase(ops_.begin() + ptrdiff_t(best));
    retired(ended, std::max(ended.issued + 1, last + 1 >= start ? last + 1 - start : 0), last);
    return true;
  }
  return false;
}

}  // namespace cs::csl

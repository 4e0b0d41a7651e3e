// Pass `trips`: what a trip of a loop has loaded or stored stays in its register for the next trip.
//
// Of a window that moves over an array (a[i - 1] and a[i]) every trip but the first loads again what the trip
// before had. If the address of a load is, one trip later, that of another access of the loop, and nothing
// writes there in between, the load is done once before the loop and the register of the other access stands
// for it. Only where one register is enough for both: a copy takes as long as a load.
#include <algorithm>
#include <optional>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Trips {
 public:
  Trips(Context& c, MirFunction& f, Code& code, const Loop& loop) : c_(c), f_(f), code_(code), loop_(loop) {
    c_.reached.see(f, code);
    writes_.assign(size_t(code.next_virtual), 0);
    writer_.assign(size_t(code.next_virtual), 0);
    for (uint32_t i = loop.top; i <= loop.back; ++i)
      for_each_register(f, code.lines[i], [&](const Operand& o, bool, bool written) {
        if (!written) return;
        if (writes_[size_t(o.value)] < 2) ++writes_[size_t(o.value)];
        writer_[size_t(o.value)] = i;
      });
  }

  // One load; the caller looks at the loops again.
  bool run() {
    std::vector<Access> all;
    for (uint32_t i = loop_.top; i <= loop_.back; ++i)
      if (const auto a = access(i)) all.push_back(*a);
    for (const Access& load : all) {
      const isa::Inst& inst = code_.lines[load.line].inst;
      if (!is_load(inst.op) || !is_virtual(inst.args[0])) continue;
      for (const Access& other : all)
        if (other.line != load.line && keep(load, other)) return true;
    }
    return false;
  }

 private:
  // A load or store that every trip comes to, at an address that moves by `step` per trip.
  struct Access {
    uint32_t line = 0;
    Place place;  // the offset counts from the index register's value at the start of a trip
    int32_t step = 0;
  };

  std::optional<Access> access(uint32_t line) const {
    const isa::Inst& inst = code_.lines[line].inst;
    if ((!is_load(inst.op) && !is_store(inst.op)) || is_skipped(code_, loop_, line)) return std::nullopt;
    Access a{line, place_at(line), 0};
    if (a.place.kind == Place::Kind::fixed || a.place.bytes == 1) return std::nullopt;
    if (a.place.index < 0) return a;
    const auto step = step_of(int32_t(a.place.index), line);
    if (!step) return std::nullopt;
    a.step = *step;
    return a;
  }

  Place place_at(uint32_t line) const {
    const isa::Inst& inst = code_.lines[line].inst;
    const size_t base = is_load(inst.op) ? 1 : 0;
    Place p = place_of(inst.args[base], inst.args[base + 1], access_bytes(inst.op),
                       [](const Operand& o) { return int64_t(o.value); });
    if (p.index >= 0)
      if (const auto step = counts(int32_t(p.index)); step && line > writer_[size_t(p.index)])
        p.offset += *step;
    return p;
  }

  // r = r + literal, once in every trip.
  std::optional<int32_t> counts(int32_t r) const {
    if (writes_[size_t(r)] != 1 || is_skipped(code_, loop_, writer_[size_t(r)])) return std::nullopt;
    const isa::Inst& inst = code_.lines[writer_[size_t(r)]].inst;
    const Operand self{OperandKind::reg, r, 0};
    if ((inst.op != Op::add16 && inst.op != Op::sub16) || !(inst.args[1] == self) ||
        !is_literal(inst.args[2]))
      return std::nullopt;
    return inst.op == Op::add16 ? inst.args[2].value : -inst.args[2].value;
  }

  // By how much a register's value at a line differs from that one trip before; nullopt: not the same in all
  // trips, or not made of what counts and what stays by sums and shifts.
  std::optional<int32_t> step_of(int32_t r, uint32_t line) const {
    if (writes_[size_t(r)] == 0) return 0;
    if (const auto step = counts(r)) return step;
    if (writes_[size_t(r)] != 1 || writer_[size_t(r)] >= line || is_skipped(code_, loop_, writer_[size_t(r)]))
      return std::nullopt;
    const isa::Inst& inst = code_.lines[writer_[size_t(r)]].inst;
    if (!is_value(inst, false)) return std::nullopt;
    const auto of = [&](const Operand& o) -> std::optional<int32_t> {
      return is_register(o) ? step_of(o.value, writer_[size_t(r)]) : std::optional<int32_t>(0);
    };
    const auto a = of(inst.args[1]), b = of(inst.args[2]);
    if (!a || !b) return std::nullopt;
    switch (inst.op) {
      case Op::mov16:
        return a;
      case Op::add16:
        return *a + *b;
      case Op::sub16:
        return *a - *b;
      case Op::sll16:
        if (!is_literal(inst.args[2]) || inst.args[2].value < 0 || inst.args[2].value > 15)
          return std::nullopt;
        return *a * (1 << inst.args[2].value);
      default:
        return std::nullopt;
    }
  }

  // What is read of the values that a loop begins with, and behind it.
  void find_live_registers() {
    at_top_ = behind_ = RegisterSet(code_.next_virtual);
    const std::vector<Block> blocks = find_blocks(code_);
    const Liveness live = find_live(f_, code_, blocks);
    for (size_t b = 0; b < blocks.size(); ++b) {
      const bool inside = blocks[b].first >= loop_.top && blocks[b].first <= loop_.back;
      if (blocks[b].first == loop_.top) at_top_ = live.in[b];
      for (uint32_t s : blocks[b].successors)
        if (inside && (blocks[s].first < loop_.top || blocks[s].first > loop_.back))
          behind_.merge(live.in[s]);
    }
  }

  bool keep(const Access& load, const Access& other) {
    const Place &p = load.place, &q = other.place;
    if (load.step != other.step || p.kind != q.kind || !(p.symbol == q.symbol) || p.index != q.index ||
        p.bytes != q.bytes || q.offset != p.offset + load.step)
      return false;
    // What is local to the function; other variables are looked at in every trip (decision 29).
    if (load.step == 0 && (p.symbol.kind != OperandKind::slot || is_reached(p, c_.reached))) return false;
    return one_register(load, other) && unchanged(load, other) && move_before(load, value(other));
  }

  const Operand& value(const Access& a) const {
    const isa::Inst& inst = code_.lines[a.line].inst;
    return inst.args[is_load(inst.op) ? 0 : 2];
  }

  // The value that comes is made where the one that goes is not read any more, in every trip.
  bool one_register(const Access& load, const Access& other) {
    const Operand &from = value(load), &to = value(other);
    if (!is_virtual(to) || from.kind != to.kind || from == to || writes_[size_t(to.value)] != 1 ||
        writes_[size_t(from.value)] != 1)
      return false;
    const uint32_t made = writer_[size_t(to.value)];
    if (made > other.line || made < load.line || is_skipped(code_, loop_, made)) return false;
    find_live_registers();
    if (at_top_.has(to.value) || at_top_.has(from.value) || behind_.has(from.value)) return false;
    for (uint32_t i = made + 1; i <= loop_.back; ++i) {
      bool read = false;
      for_each_register(f_, code_.lines[i],
                        [&](const Operand& o, bool reads, bool) { read |= reads && o.value == from.value; });
      if (read) return false;
    }
    return registers_in_use(f_, code_, loop_) + (to.kind == OperandKind::pair ? 2 : 1) <
           c_.machine.core.registers;
  }

  // Nothing writes to the place between the access of one trip and the load of the next.
  bool unchanged(const Access& load, const Access& other) const {
    for (uint32_t i = loop_.top; i <= loop_.back; ++i) {
      const Line& line = code_.lines[i];
      if (line.call >= 0 || line.inst.op == Op::stcfg16) return false;
      if (line.inst.is_vector() && !c_.outlives_vector(load.place)) return false;
      if (!is_store(line.inst.op) || i == other.line) continue;
      if (i > other.line && meets(i, other.place)) return false;
      if (i < load.line && meets(i, load.place)) return false;
    }
    return true;
  }

  // The store of a line may write to a place. An index that is another one, or not yet that of this trip, may
  // be anything.
  bool meets(uint32_t store, const Place& p) const {
    Place to = place_at(store);
    if (to.index >= 0 && (to.index != p.index || !step_of(int32_t(to.index), store))) to.index = -2;
    return may_meet(to, p, c_.reached);
  }

  // The load for the first trip, into the register that the trips hand on.
  bool move_before(const Access& load, const Operand to) {
    const Operand from = value(load);
    std::vector<Line> before;
    Line first = code_.lines[load.line];
    first.inst.args[0] = to;
    for (size_t k : {1, 2})
      if (is_register(first.inst.args[k]))
        first.inst.args[k] = at_start(first.inst.args[k], load.line, before);
    before.push_back(first);
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i == loop_.top)
        for (const Line& line : before) edit.push(line);
      edit.begin(i);
      if (i == load.line) continue;
      Line line = code_.lines[i];
      if (i >= loop_.top && i <= loop_.back)
        for_each_register(f_, line, [&](Operand& o, bool, bool) {
          if (o == from) o.value = to.value;
        });
      edit.push(line);
    }
    edit.finish();
    return true;
  }

  // What a register holds at a line of the first trip, worked out before the loop.
  Operand at_start(const Operand& o, uint32_t line, std::vector<Line>& before) {
    const uint32_t writer = writer_[size_t(o.value)];
    if (writes_[size_t(o.value)] == 0 || (counts(o.value) && line <= writer)) return o;
    Line made = code_.lines[writer];
    for (size_t k : {1, 2})
      if (is_register(made.inst.args[k])) made.inst.args[k] = at_start(made.inst.args[k], writer, before);
    made.inst.args[0] = {o.kind, code_.next_virtual++, 0};
    before.push_back(made);
    return made.inst.args[0];
  }

  Context& c_;
  MirFunction& f_;
  Code& code_;
  const Loop loop_;
  std::vector<uint8_t> writes_;   // by register, in the loop
  std::vector<uint32_t> writer_;  // by register: the last line of the loop that writes it
  RegisterSet at_top_, behind_;   // what is read of the values before and behind the loop
};

}  // namespace

bool keep_over_trips(Context& c, MirFunction& f, Code& code) {
  // Sums before a loop would change what an addition with carry finds.
  if (reads_carry(code)) return false;
  bool changed = false;
  const auto again = [&] {
    for (const Loop& loop : find_loops(code))
      if (loop.innermost && Trips(c, f, code, loop).run()) return true;
    return false;
  };
  while (again()) changed = true;
  return changed;
}

}  // namespace cs::csl::mir

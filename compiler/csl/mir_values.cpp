// Pass `values`: every value gets a number, and what is known of numbers replaces work.
//
// Literals and addresses take the place of registers, older registers that of copies; an expression whose
// value some register holds becomes a copy; a load of what was stored or loaded before becomes a copy; a
// store of what is there, a DSR load of what is there and a jump that is never taken go. Works forwards over
// the blocks: what holds at the end of all blocks before holds at a block's start; of a loop's blocks behind,
// what they change does not.
#include <algorithm>

#include "compiler/csl/mir_counters.h"
#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_fold.h"
#include "compiler/csl/mir_known.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Values {
 public:
  Values(Context& c, MirFunction& f, Code& code)
      : c_(c),
        f_(f),
        code_(code),
        edit_(code),
        blocks_(find_blocks(code)),
        loops_(find_loops(code)),
        carries_(reads_carry(code)),
        state_(c, 0) {
    c_.reached.see(f, code);
    find_single();
  }

  bool run() {
    ends_.assign(blocks_.size(), Known(c_, 0));
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      begin(b);
      for (uint32_t i = blocks_[b].first; i < blocks_[b].last; ++i) {
        edit_.begin(i);
        Line line = code_.lines[i];
        if (visit(line)) edit_.push(line);
      }
      ends_[b] = std::move(state_);
      // Nobody reads what holds behind the last one.
      if (blocks_[b].successors.empty()) ends_[b] = Known(c_, 0);
    }
    edit_.finish();
    return changed_;
  }

 private:
  // ---- states
  Known empty() const { return Known(c_, code_.next_virtual); }

  void begin(uint32_t b) {
    state_ = empty();
    if (blocks_.size() * size_t(code_.next_virtual) > 4'000'000) return;
    const auto around = find_around(blocks_, b);
    if (!around) return;
    bool first = true;
    for (uint32_t p : blocks_[b].predecessors) {
      if (p >= b) continue;
      if (first) state_ = ends_[p];
      if (!first) state_.meet(ends_[p]);
      first = false;
    }
    const std::vector<Bounds> bounds = bounds_at(b);
    for (uint32_t other : *around) forget_writes(blocks_[other]);
    for (const Bounds& within : bounds) {
      const ValueId v = table_.fresh();
      table_.bound(v, within.low, within.high);
      define({OperandKind::reg, within.reg, 0}, v);
    }
  }

  // Between which values a loop's counter is whenever it comes to a block, from what it is before.
  std::vector<Bounds> bounds_at(uint32_t b) const {
    std::vector<Bounds> all;
    for (const Loop& loop : loops_) {
      if (loop.top != blocks_[b].first) continue;
      const auto of_loop = find_bounds(f_, code_, loop, [&](int32_t reg) -> std::optional<int32_t> {
        ValueId v = state_.registers[size_t(reg)];
        if (v == 0) v = single_[size_t(reg)];
        return v == 0 ? std::nullopt : table_.literal_of(v);
      });
      all.insert(all.end(), of_loop.begin(), of_loop.end());
    }
    return all;
  }

  // Everything that the lines of a block may change.
  void forget_writes(const Block& block) {
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Line& line = code_.lines[i];
      for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
        if (written) state_.registers[size_t(o.value)] = 0;
      });
      if (is_store(line.inst.op)) {
        // The register that is added has some other value then.
        state_.forget(place_of(line.inst.args[0], line.inst.args[1], access_bytes(line.inst.op),
                               [](const Operand&) { return int64_t(-2); }));
      }
      effects(line);
      if (is_dsr_load(line.inst.op)) state_.forget_dsr(dsr_key(line.inst.args[0]));
    }
  }

  // Registers with one instruction that writes them, a move of a literal or an address: it holds wherever
  // they are read.
  void find_single() {
    single_.assign(size_t(code_.next_virtual), 0);
    std::vector<uint8_t> writes(size_t(code_.next_virtual));
    for (const Operand& p : f_.params)
      if (is_register(p)) writes[size_t(p.value)] = 2;
    const auto source = [](const isa::Inst& inst) -> const Operand* {
      const Op op = inst.op;
      const bool moves = op == Op::mov16 || op == Op::imov16 || op == Op::mov32 || op == Op::imov32;
      return moves && is_virtual(inst.args[0]) && (is_literal(inst.args[1]) || is_symbol(inst.args[1]))
                 ? &inst.args[1]
                 : nullptr;
    };
    for (const Line& line : code_.lines)
      for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
        if (written && writes[size_t(o.value)] < 2) ++writes[size_t(o.value)];
      });
    for (const Line& line : code_.lines)
      if (const Operand* o = source(line.inst); o && writes[size_t(line.inst.args[0].value)] == 1)
        single_[size_t(line.inst.args[0].value)] =
            is_literal(*o) ? table_.literal(o->value, line.inst.args[0].kind == OperandKind::pair)
                           : table_.symbol(*o);
  }

  // ---- values
  void define(const Operand& r, ValueId v) {
    state_.registers[size_t(r.value)] = v;
    holders_.resize(std::max(holders_.size(), size_t(v) + 1));
    auto& list = holders_[v];
    if (std::find(list.begin(), list.end(), r) == list.end()) list.push_back(r);
  }

  ValueId value_of(const Operand& o, bool wide) {
    if (is_literal(o)) return table_.literal(o.value, wide);
    if (is_symbol(o)) return table_.symbol(o);
    if (!is_register(o)) return table_.fresh();
    ValueId& v = state_.registers[size_t(o.value)];
    if (v == 0) {
      const ValueId known = is_virtual(o) ? single_[size_t(o.value)] : 0;
      define(o, known ? known : table_.fresh());
    }
    return state_.registers[size_t(o.value)];
  }

  // The oldest virtual register that holds v.
  std::optional<Operand> holder(ValueId v, OperandKind kind) const {
    if (v >= holders_.size()) return std::nullopt;
    for (const Operand& r : holders_[v])
      if (r.kind == kind && is_virtual(r) && state_.registers[size_t(r.value)] == v) return r;
    return std::nullopt;
  }

  // A literal, an address or a register for v; nullopt if nothing holds it.
  std::optional<Operand> operand_for(ValueId v, OperandKind kind) const {
    if (const auto known = table_.literal_of(v)) return literal(*known);
    if (const auto symbol = table_.symbol_of(v); symbol && kind == OperandKind::reg) return *symbol;
    return holder(v, kind);
  }

  void replace(Operand& o, const Operand& by) {
    if (o == by) return;
    o = by;
    changed_ = true;
  }

  void rewrite_operand(Operand& o) {
    if (!is_virtual(o)) return;
    const ValueId v = value_of(o, o.kind == OperandKind::pair);
    if (const auto better = operand_for(v, o.kind)) replace(o, *better);
  }

  // Base and offset of an access: sums and addresses go into the offset.
  void rewrite_address(Operand& base, Operand& offset) {
    if (!is_virtual(base)) return;
    const ValueId v = value_of(base, false);
    if (const auto symbol = table_.symbol_of(v); symbol && is_literal(offset)) {
      Operand to = *symbol;
      to.extra += offset.value;
      replace(base, to);
      replace(offset, literal(0));
      return;
    }
    const auto known = table_.literal_of(v);
    if (known && is_symbol(offset)) {
      Operand to = offset;
      to.extra += int16_t(*known);
      replace(base, to);
      replace(offset, literal(0));
      return;
    }
    if (known) return;  // an address that the program has computed: it stays in its register
    if (const auto sum = table_.sum_of(v)) {
      const int64_t by = (is_symbol(offset) ? offset.extra : offset.value) + int64_t(sum->second);
      const auto from = holder(sum->first, OperandKind::reg);
      const int64_t most = is_symbol(offset) ? INT16_MAX : kMostOffset;
      if (from && by >= -most && by <= most) {
        replace(base, *from);
        (is_symbol(offset) ? offset.extra : offset.value) = int32_t(by);
        return;
      }
    }
    if (const auto older = holder(v, OperandKind::reg)) replace(base, *older);
  }

  Place place(const isa::Inst& inst, size_t base, int bytes) {
    return place_of(inst.args[base], inst.args[base + 1], bytes,
                    [&](const Operand& o) { return int64_t(value_of(o, false)); });
  }

  // Effects on memory and DSRs of all but stores and DSR loads.
  void effects(const Line& line) {
    const isa::Inst& inst = line.inst;
    if (line.call >= 0 || inst.is_vector()) state_.fence(line.call >= 0);
    if (line.call >= 0 || inst.op == Op::stcfg16) state_.dsrs.clear();
    if (inst.is_vector()) state_.walk(inst);
  }

  // ---- lines; false: the line goes
  bool visit(Line& line) {
    isa::Inst& inst = line.inst;
    if (is_load(inst.op)) return visit_load(line);
    if (is_store(inst.op)) return visit_store(line);
    if (is_dsr_load(inst.op)) return visit_dsr_load(line);
    if (is_value(inst, carries_)) return visit_value(line);
    const std::string_view form = isa::row(inst.op).form;
    for (size_t i = 0; i < form.size(); ++i)
      if (form[i] == 'A' || form[i] == 'B' || form[i] == 'S' || form[i] == 'r' || form[i] == 'p')
        if (!(line.ret && i == 0)) rewrite_source(inst, i);
    if (line.call >= 0) {
      MirCall& call = f_.calls[size_t(line.call)];
      for (Operand& a : call.args) rewrite_operand(a);
    }
    effects(line);
    for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
      if (written) define(o, table_.fresh());
    });
    return visit_jump(inst);
  }

  // Running values of reductions stay in the register that they are written to.
  void rewrite_source(isa::Inst& inst, size_t i) {
    if (inst.is_vector() && i > 0 && inst.args[i] == inst.args[0]) return;
    rewrite_operand(inst.args[i]);
  }

  bool visit_value(Line& line) {
    isa::Inst& inst = line.inst;
    const size_t count = isa::row(inst.op).form.size() - 1;
    std::array<ValueId, 3> args{};
    for (size_t i = 0; i < count; ++i) {
      const bool moved = isa::row(inst.op).form[i + 1] == 'I';
      args[i] = value_of(inst.args[i + 1], moved ? inst.args[0].kind == OperandKind::pair
                                                 : isa::operand_bytes(inst.op, int(i) + 1) == 4);
      rewrite_operand(inst.args[i + 1]);
    }
    const Operand dst = inst.args[0];
    const bool wide = dst.kind == OperandKind::pair;
    const ValueId v = table_.expression(inst.op, args, int(count), wide);
    if (state_.registers[size_t(dst.value)] == v) {
      changed_ = true;
      return false;
    }
    if (const auto known = operand_for(v, dst.kind)) {
      const isa::Inst copy = move(dst, *known);
      if (!(copy == inst)) inst = copy, changed_ = true;
    } else if (const auto sum = table_.sum_of(v); sum && holder(sum->first, OperandKind::reg)) {
      // Of a chain of steps only the last one is wanted then.
      isa::Inst add{.op = Op::add16};
      add.args = {dst, *holder(sum->first, OperandKind::reg), literal(sum->second), {}};
      const bool same = inst.op == Op::sub16 && inst.args[1] == add.args[1];
      if (!(add == inst) && !same) inst = add, changed_ = true;
    } else {
      const auto by = table_.literal_of(args[1]);
      changed_ |= by && make_cheaper(inst, *by);
    }
    define(dst, v);
    return true;
  }

  bool visit_load(Line& line) {
    isa::Inst& inst = line.inst;
    rewrite_address(inst.args[1], inst.args[2]);
    const Place p = place(inst, 1, access_bytes(inst.op));
    const Operand dst = inst.args[0];
    ValueId v = 0;
    if (p.kind == Place::Kind::variable && p.symbol.kind == OperandKind::global)
      if (const auto known = c_.settled.find({p.symbol.value, p.offset, p.bytes}); known != c_.settled.end())
        v = value_of(known->second, dst.kind == OperandKind::pair);
    if (v == 0) v = state_.content(p);
    if (v != 0) {
      if (state_.registers[size_t(dst.value)] == v) {
        changed_ = true;
        return false;
      }
      if (const auto known = operand_for(v, dst.kind)) inst = move(dst, *known), changed_ = true;
    } else {
      v = table_.fresh();
      // The index may be the register that is loaded.
      state_.remember(p, v);
    }
    define(dst, v);
    return true;
  }

  bool visit_store(Line& line) {
    isa::Inst& inst = line.inst;
    rewrite_address(inst.args[0], inst.args[1]);
    const bool wide = access_bytes(inst.op) == 4;
    const ValueId v = value_of(inst.args[2], wide);
    rewrite_operand(inst.args[2]);
    const Place p = place(inst, 0, access_bytes(inst.op));
    const bool in_variable = p.kind == Place::Kind::variable || p.kind == Place::Kind::element;
    if (in_variable && p.bytes > 1 && state_.content(p) == v) {
      changed_ = true;
      return false;
    }
    state_.forget(p);
    if (p.bytes > 1) state_.remember(p, v);
    return true;
  }

  bool visit_dsr_load(Line& line) {
    isa::Inst& inst = line.inst;
    rewrite_address(inst.args[1], inst.args[2]);
    const Place p = place(inst, 1, 20);  // as long as the longest descriptor
    const Known::Dsr fact{dsr_key(inst.args[0]), p, inst.args[3].value};
    const bool exact = p.kind == Place::Kind::variable;
    if (exact && std::find(state_.dsrs.begin(), state_.dsrs.end(), fact) != state_.dsrs.end()) {
      changed_ = true;
      return false;
    }
    state_.forget_dsr(fact.key);
    if (exact) state_.dsrs.push_back(fact);
    return true;
  }

  bool visit_jump(isa::Inst& inst) {
    if (inst.op != Op::jmpt && inst.op != Op::jmpf) return true;
    const ValueId v = value_of(inst.args[0], false);
    if (const auto known = table_.literal_of(v)) {
      changed_ = true;
      if ((*known != 0) != (inst.op == Op::jmpt)) return false;
      isa::Inst jump{.op = Op::jmp};
      jump.args[0] = inst.args[1];
      inst = jump;
      return true;
    }
    // x == 0 is false where x is true.
    const auto& made = table_.made_by(v);
    if (!made || made->op != Op::eq16) return true;
    for (size_t i : {0, 1}) {
      const auto zero = table_.literal_of(made->args[i]);
      if (!zero || *zero != 0) continue;
      const auto x = holder(made->args[1 - i], OperandKind::reg);
      if (!x) return true;
      inst.op = inst.op == Op::jmpt ? Op::jmpf : Op::jmpt;
      inst.args[0] = *x;
      changed_ = true;
      return true;
    }
    return true;
  }

  Context& c_;
  MirFunction& f_;
  Code& code_;
  Edit edit_;
  std::vector<Block> blocks_;
  std::vector<Loop> loops_;
  const bool carries_;
  ValueTable table_;
  std::vector<ValueId> single_;
  std::vector<std::vector<Operand>> holders_;  // by value: registers that held it once
  Known state_;
  std::vector<Known> ends_;  // by block: what is known behind it
  bool changed_ = false;
};

}  // namespace

bool number_values(Context& c, MirFunction& f, Code& code) { return Values(c, f, code).run(); }

}  // namespace cs::csl::mir

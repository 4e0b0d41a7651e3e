// Pass `bits`: work on bits takes no more of them than are wanted.
//
// A pair of which one half is wanted becomes 16 bits (mir_narrow.cpp). A pair that is put together from two
// halves by shifts and `or` is one wpack. A selection between a value and the same value with one bit more is
// that bit, shifted to its place: `if (x & 0x8000 != 0) y |= 1` is y | x >> 15.
#include "compiler/csl/mir_bits.h"

#include <bit>
#include <map>
#include <optional>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_value_table.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr uint32_t kLow = 0xFFFF;

bool is_bitwise(Op op) { return op == Op::and16 || op == Op::or16 || op == Op::xor16; }

// Forwards over each block: how registers were made, as long as nobody writes what they were made of.
class Joiner {
 public:
  Joiner(MirFunction& f, Code& code) : f_(f), code_(code), edit_(code), carries_(reads_carry(code)) {}

  bool run() {
    const std::vector<Block> blocks = find_blocks(code_);
    for (const Block& block : blocks) {
      made_.clear();
      halves_.clear();
      for (uint32_t i = block.first; i < block.last; ++i) {
        edit_.begin(i);
        Line line = code_.lines[i];
        if (line.call < 0 && !line.ret && is_value(line.inst, carries_)) rewrite(line);
        edit_.push(line);
        learn(line);
      }
    }
    edit_.finish();
    return changed_;
  }

 private:
  struct Halves {
    Operand low, high;  // registers or literals of 16 bits
  };

  void rewrite(Line& line) {
    isa::Inst& inst = line.inst;
    if (inst.op == Op::wunpl || inst.op == Op::wunph) {
      if (const auto h = halves(inst.args[1]))
        replace(inst, move(inst.args[0], inst.op == Op::wunpl ? h->low : h->high));
    } else if (inst.op == Op::select16) {
      select(line);
    } else if (const auto h = in_slots(inst.op) ? halves_of(inst) : std::nullopt) {
      replace(inst, put_together(inst.args[0], *h));
    }
  }

  void replace(isa::Inst& inst, const isa::Inst& by) {
    inst = by;
    changed_ = true;
  }

  void learn(const Line& line) {
    const isa::Inst& inst = line.inst;
    const bool value = line.call < 0 && !line.ret && is_value(inst, carries_);
    const auto known = value ? halves_of(inst) : std::nullopt;
    for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
      if (written) forget(o);
    });
    if (!value) return;
    for (size_t k = 1; k < inst.args.size(); ++k)
      if (inst.args[k] == inst.args[0]) return;
    if (is_comparison(inst.op) || is_bitwise(inst.op)) made_[inst.args[0].value] = inst;
    if (known) halves_[inst.args[0].value] = *known;
  }

  void forget(const Operand& o) {
    std::erase_if(made_, [&](const auto& m) {
      const auto& args = m.second.args;
      return m.first == o.value || args[1] == o || args[2] == o || args[3] == o;
    });
    std::erase_if(halves_, [&](const auto& h) {
      return h.first == o.value || h.second.low == o || h.second.high == o;
    });
  }

  const isa::Inst* made(const Operand& o) const {
    const auto it = is_register(o) ? made_.find(o.value) : made_.end();
    return it == made_.end() ? nullptr : &it->second;
  }

  // ---- pairs from halves
  // Takes two slots, where putting the halves together takes one.
  static bool in_slots(Op op) {
    return op == Op::and32 || op == Op::or32 || op == Op::xor32 || op == Op::sll32 || op == Op::slr32;
  }

  std::optional<Halves> halves(const Operand& o) const {
    if (is_literal(o))
      return Halves{literal(int32_t(uint32_t(o.value) & kLow)), literal(int32_t(uint32_t(o.value) >> 16))};
    const auto it = is_register(o) ? halves_.find(o.value) : halves_.end();
    return it == halves_.end() ? std::nullopt : std::optional(it->second);
  }

  std::optional<Halves> halves_of(const isa::Inst& inst) const {
    switch (inst.op) {
      case Op::mov32:
      case Op::imov32:
        return halves(inst.args[1]);
      case Op::wpack:
        return Halves{inst.args[1], inst.args[2]};
      case Op::extu16:
        return Halves{inst.args[1], literal(0)};
      case Op::sll32:
      case Op::slr32: {
        const auto h = halves(inst.args[1]);
        if (!h || !(inst.args[2] == literal(16))) return std::nullopt;
        return inst.op == Op::sll32 ? Halves{literal(0), h->low} : Halves{h->high, literal(0)};
      }
      case Op::and32:
      case Op::or32:
      case Op::xor32: {
        const auto a = halves(inst.args[1]), b = halves(inst.args[2]);
        if (!a || !b) return std::nullopt;
        const auto low = bitwise(inst.op, a->low, b->low), high = bitwise(inst.op, a->high, b->high);
        return low && high ? std::optional(Halves{*low, *high}) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  // What needs no instruction: with zeros, with ones, of two literals.
  static std::optional<Operand> bitwise(Op op, Operand a, Operand b) {
    if (is_literal(a)) std::swap(a, b);
    if (!is_literal(b)) return std::nullopt;
    const uint32_t mask = uint16_t(b.value);
    if (is_literal(a)) {
      const uint32_t v = uint16_t(a.value);
      return literal(int32_t(op == Op::and32 ? v & mask : op == Op::or32 ? v | mask : v ^ mask));
    }
    if (op == Op::and32) return mask == 0 ? std::optional(b) : mask == kLow ? std::optional(a) : std::nullopt;
    return mask == 0 ? std::optional(a) : std::nullopt;
  }

  static isa::Inst put_together(const Operand& to, const Halves& h) {
    isa::Inst inst{.op = Op::wpack};
    inst.args = {to, h.low, h.high, {}};
    if (is_literal(h.low) && is_literal(h.high))
      return move(to, literal(int32_t(uint32_t(uint16_t(h.low.value)) | uint32_t(h.high.value) << 16)));
    if (h.high == literal(0)) {
      inst.op = Op::extu16;
      inst.args = {to, h.low, {}, {}};
    }
    return inst;
  }

  // ---- selections of a bit
  // select c ? y with one bit more : y.
  void select(Line& line) {
    isa::Inst& inst = line.inst;
    const Operand to = inst.args[0], condition = inst.args[1], with = inst.args[2], without = inst.args[3];
    if (without == with || !is_register(condition)) return;
    const auto added = one_more(with, without);
    if (!added) return;
    const auto bit = bit_of(condition, *added, line);
    if (!bit) return;
    isa::Inst sum{.op = Op::or16};
    sum.args = {to, without, *bit, {}};
    replace(inst, without == literal(0) ? move(to, *bit) : sum);
  }

  // The bit that is set in `with` and not known to be in `without`.
  std::optional<uint32_t> one_more(const Operand& with, const Operand& without) const {
    uint32_t bit = 0;
    if (is_literal(with) && without == literal(0)) bit = uint16_t(with.value);
    if (const isa::Inst* m = made(with); m && m->op == Op::or16)
      for (size_t k : {1, 2})
        if (is_literal(m->args[k]) && m->args[3 - k] == without) bit = uint16_t(m->args[k].value);
    return std::has_single_bit(bit) ? std::optional(bit) : std::nullopt;
  }

  // A register that holds `bit` where the condition is not 0, and 0 where it is.
  std::optional<Operand> bit_of(const Operand& condition, uint32_t bit, const Line& line) {
    if (bit == 1 && is_truth(condition, 3)) return condition;
    const isa::Inst* m = made(condition);
    if (!m || m->op != Op::and16) return std::nullopt;
    const size_t k = is_literal(m->args[1]) ? 1 : 2;
    const Operand mask = m->args[k], of = m->args[3 - k];
    if (!is_literal(mask)) return std::nullopt;
    const uint32_t tested = uint16_t(mask.value);
    if (tested == bit) return condition;
    // The bit at one end, to the other end: the shift leaves nothing else.
    const bool down = tested == 0x8000 && bit == 1, up = tested == 1 && bit == 0x8000;
    if (!down && !up) return std::nullopt;
    Line shift{.loc = line.loc};
    shift.inst.op = down ? Op::slr16 : Op::sll16;
    shift.inst.args = {Operand{OperandKind::reg, code_.next_virtual++, 0}, of, literal(15), {}};
    edit_.push(shift);
    learn(shift);
    return shift.inst.args[0];
  }

  // 0 or 1.
  bool is_truth(const Operand& o, int depth) const {
    if (is_literal(o)) return o.value == 0 || o.value == 1;
    const isa::Inst* m = made(o);
    if (!m || depth == 0) return false;
    if (is_comparison(m->op)) return true;
    return is_truth(m->args[1], depth - 1) && is_truth(m->args[2], depth - 1);
  }

  MirFunction& f_;
  Code& code_;
  Edit edit_;
  const bool carries_;
  std::map<int32_t, isa::Inst> made_;  // by register: comparisons and work on bits
  std::map<int32_t, Halves> halves_;   // by register of a pair
  bool changed_ = false;
};

}  // namespace

bool join_bits(MirFunction& f, Code& code) { return Joiner(f, code).run(); }

bool use_bits(Context&, MirFunction& f, Code& code) {
  const bool joined = join_bits(f, code);
  return (!reads_carry(code) && narrow_pairs(f, code)) || joined;
}

}  // namespace cs::csl::mir

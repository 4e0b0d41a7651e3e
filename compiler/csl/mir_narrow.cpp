// Part of pass `bits`: a pair of which nobody wants more than one half is a register of 16 bits.
//
// 32-bit instructions take two slots (decision 26). Where the result of a chain of them is masked, shifted or
// cut to 16 bits, the other half is worked out for nothing: of `(v >> 6) & 15` only the low half of v is
// loaded, shifted and masked.
#include <algorithm>
#include <optional>

#include "compiler/csl/mir_bits.h"
#include "compiler/csl/mir_demand.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

enum class Half : uint8_t { both, low, high };

constexpr uint32_t kLow = 0xFFFF, kHigh = 0xFFFF0000;

Half half_of(uint32_t wanted) {
  if (wanted == 0) return Half::both;
  return (wanted & kHigh) == 0 ? Half::low : (wanted & kLow) == 0 ? Half::high : Half::both;
}

isa::Inst make(Op op, const Operand& to, const Operand& a, const Operand& b = {}, const Operand& c = {}) {
  isa::Inst inst{.op = op};
  inst.args = {to, a, b, c};
  return inst;
}

class Narrow {
 public:
  Narrow(MirFunction& f, Code& code) : f_(f), code_(code), wanted_(demanded_bits(f, code)) {
    halves_.assign(wanted_.size(), Half::both);
    find_candidates();
  }

  bool run() {
    while (drop_one()) {
    }
    if (std::all_of(halves_.begin(), halves_.end(), [](Half h) { return h == Half::both; })) return false;
    registers_.assign(halves_.size(), 0);
    for (size_t r = 0; r < halves_.size(); ++r)
      if (halves_[r] != Half::both) registers_[r] = code_.next_virtual++;
    Edit edit(code_);
    for (size_t i = 0; i < code_.lines.size(); ++i) {
      edit.begin(i);
      const Line line = code_.lines[i];
      if (!concerns(line)) {
        edit.push(line);
        continue;
      }
      const auto lines = rewritten(line.inst);
      for (const isa::Inst& inst : *lines) edit.push({inst, line.loc});
    }
    edit.finish();
    return true;
  }

 private:
  using Lines = std::vector<isa::Inst>;

  void find_candidates() {
    std::vector<bool> fixed(halves_.size());
    const auto fix = [&](const Operand& o) {
      if (is_register(o)) fixed[size_t(o.value)] = true;
    };
    for (const Operand& p : f_.params) fix(p);
    fix(f_.result);
    std::vector<bool> pairs(halves_.size());
    for (const Line& line : code_.lines)
      for_each_register(f_, line, [&](const Operand& o, bool, bool) {
        pairs[size_t(o.value)] = o.kind == OperandKind::pair && is_virtual(o);
        if (line.call >= 0 || line.ret || !(line.inst.op == Op::ld32 || is_value(line.inst, false))) fix(o);
      });
    for (size_t r = 0; r < halves_.size(); ++r)
      if (pairs[r] && !fixed[r]) halves_[r] = half_of(wanted_[r]);
  }

  Half half(const Operand& o) const { return is_register(o) ? halves_[size_t(o.value)] : Half::both; }

  bool concerns(const Line& line) const {
    bool any = false;
    for_each_register(f_, line, [&](const Operand& o, bool, bool) { any |= half(o) != Half::both; });
    return any;
  }

  // An instruction that cannot do with the half of a register: the register stays a pair.
  bool drop_one() {
    for (const Line& line : code_.lines) {
      if (!concerns(line)) continue;
      const int32_t next = code_.next_virtual;
      registers_.assign(halves_.size(), next);
      const bool can = rewritten(line.inst).has_value();
      code_.next_virtual = next;
      if (can) continue;
      for_each_register(f_, line,
                        [&](const Operand& o, bool, bool) { halves_[size_t(o.value)] = Half::both; });
      return true;
    }
    return false;
  }

  std::optional<Lines> rewritten(const isa::Inst& inst) {
    Lines lines;
    const Operand& to = inst.args[0];
    if (half(to) == Half::both) return read_half(inst, lines);
    const Operand narrow{OperandKind::reg, registers_[size_t(to.value)], 0};
    if (!write_half(inst, narrow, half(to), wanted_[size_t(to.value)], lines)) return std::nullopt;
    // An instruction of 32 bits has two slots: one half of one source may be cut out besides.
    constexpr size_t kSlots = 2;
    if (lines.size() > kSlots) return std::nullopt;
    return lines;
  }

  // One half of a source as 16 bits; nullopt if it is not there.
  std::optional<Operand> cut(const Operand& o, Half which, Lines& lines) {
    if (is_literal(o)) {
      const uint32_t v = uint32_t(o.value);
      return literal(int32_t(which == Half::low ? v & kLow : v >> 16));
    }
    if (o.kind != OperandKind::pair) return std::nullopt;
    const Operand narrow{OperandKind::reg, registers_[size_t(o.value)], 0};
    if (half(o) != Half::both) return half(o) == which ? std::optional(narrow) : std::nullopt;
    const Operand part{OperandKind::reg, code_.next_virtual++, 0};
    lines.push_back(make(which == Half::low ? Op::wunpl : Op::wunph, part, o));
    return part;
  }

  // The half `which` of an instruction's result, of which `wanted` is wanted.
  bool write_half(const isa::Inst& inst, const Operand& to, Half which, uint32_t wanted, Lines& lines) {
    const auto bitwise = [&](Op op, Half half) {
      const auto a = cut(inst.args[1], half, lines);
      const bool two = isa::row(inst.op).form.size() > 2;
      const auto b = two ? cut(inst.args[2], half, lines) : std::optional(Operand{});
      if (a && b) lines.push_back(make(op, to, *a, *b));
      return a && b;
    };
    const auto of_register = [&](Op op, const Operand& a, const Operand& b = {}) {
      lines.push_back(make(op, to, a, b));
      return true;
    };
    const bool low = which == Half::low;
    switch (inst.op) {
      case Op::mov32:
      case Op::imov32:
        return bitwise(Op::mov16, which);
      case Op::and32:
        return bitwise(Op::and16, which);
      case Op::or32:
        return bitwise(Op::or16, which);
      case Op::xor32:
        return bitwise(Op::xor16, which);
      case Op::not32:
        return bitwise(Op::not16, which);
      case Op::add32:
        return low && bitwise(Op::add16, which);
      case Op::sub32:
        return low && bitwise(Op::sub16, which);
      case Op::neg32:
        return low && bitwise(Op::neg16, which);
      case Op::imul32:
        return low && bitwise(Op::imul16, which);
      case Op::imul16ud:
      case Op::imul16sd:
        return low && of_register(Op::imul16, inst.args[1], inst.args[2]);
      case Op::wpack:
        return of_register(Op::mov16, inst.args[low ? 1 : 2]);
      case Op::extu16:
        return of_register(Op::mov16, low ? inst.args[1] : literal(0));
      case Op::ext16:
        return low ? of_register(Op::mov16, inst.args[1]) : of_register(Op::sar16, inst.args[1], literal(15));
      case Op::ld32:
        return load_half(inst, to, low, lines);
      case Op::select32:
        return select_half(inst, to, which, lines);
      case Op::sll32:
      case Op::slr32:
      case Op::sar32:
        return shift_half(inst, to, which, wanted, lines);
      default:
        return false;
    }
  }

  static bool load_half(const isa::Inst& inst, const Operand& to, bool low, Lines& lines) {
    isa::Inst load = make(Op::ld16, to, inst.args[1], inst.args[2]);
    if (!low) add_bytes(load.args[1], load.args[2], 2);
    lines.push_back(load);
    return true;
  }

  bool select_half(const isa::Inst& inst, const Operand& to, Half which, Lines& lines) {
    const auto a = cut(inst.args[2], which, lines), b = cut(inst.args[3], which, lines);
    if (a && b) lines.push_back(make(Op::select16, to, inst.args[1], *a, *b));
    return a && b;
  }

  bool shift_half(const isa::Inst& inst, const Operand& to, Half which, uint32_t wanted, Lines& lines) {
    if (!is_literal(inst.args[2])) return false;
    const uint32_t by = uint16_t(inst.args[2].value);
    const bool left = inst.op == Op::sll32, low = which == Half::low;
    if (by >= 32 && inst.op == Op::sar32) return false;
    // Which half of the source the wanted bits come from; zeros come from neither.
    const uint32_t from = by >= 32 ? 0 : left ? wanted >> by : wanted << by;
    const Half source = half_of(from);
    if (source == Half::both) return false;
    const bool crosses = source != which;
    if (crosses && (by < 16 || left == low)) return false;
    const Op op = left ? Op::sll16 : inst.op == Op::slr32 ? Op::slr16 : Op::sar16;
    const auto a = cut(inst.args[1], source, lines);
    if (!a) return false;
    lines.push_back(make(op, to, *a, literal(int32_t(crosses ? by - 16 : by))));
    return true;
  }

  // An instruction with a whole result, or one of 16 bits, that reads the half of a pair.
  std::optional<Lines> read_half(const isa::Inst& inst, Lines& lines) {
    const auto narrow = [&](const Operand& o) {
      return Operand{OperandKind::reg, registers_[size_t(o.value)], 0};
    };
    const auto part = [&] { return Operand{OperandKind::reg, code_.next_virtual++, 0}; };
    const auto whole = [&](Half from, const Operand& of) {
      lines.push_back(from == Half::low ? make(Op::extu16, inst.args[0], of)
                                        : make(Op::wpack, inst.args[0], literal(0), of));
      return std::optional(lines);
    };
    const Operand &to = inst.args[0], &a = inst.args[1], &b = inst.args[2];
    switch (inst.op) {
      case Op::wunpl:
      case Op::wunph:
        if (half(a) != (inst.op == Op::wunpl ? Half::low : Half::high)) return std::nullopt;
        lines.push_back(make(Op::mov16, to, narrow(a)));
        return lines;
      case Op::and32: {
        const Operand &mask = is_literal(a) ? a : b, &of = is_literal(a) ? b : a;
        if (!is_literal(mask) || half_of(uint32_t(mask.value)) != half(of)) return std::nullopt;
        const Operand t = part();
        lines.push_back(make(Op::and16, t, narrow(of), *cut(mask, half(of), lines)));
        return whole(half(of), t);
      }
      case Op::sll32:
      case Op::slr32: {
        const bool left = inst.op == Op::sll32;
        if (!is_literal(b) || half(a) != (left ? Half::low : Half::high)) return std::nullopt;
        const int32_t by = int32_t(uint16_t(b.value)) - 16;
        if (by < 0 || by > 15) return std::nullopt;
        const Operand t = part();
        lines.push_back(make(left ? Op::sll16 : Op::slr16, t, narrow(a), literal(by)));
        return whole(left ? Half::high : Half::low, t);
      }
      default:
        return std::nullopt;
    }
  }

  MirFunction& f_;
  Code& code_;
  const std::vector<uint32_t> wanted_;  // by register
  std::vector<Half> halves_;            // by register: the only half that is wanted
  std::vector<int32_t> registers_;      // by register: its number as 16 bits
};

}  // namespace

bool narrow_pairs(MirFunction& f, Code& code) { return Narrow(f, code).run(); }

}  // namespace cs::csl::mir

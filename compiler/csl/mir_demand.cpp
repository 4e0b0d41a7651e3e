// Demanded bits, from results back to operands until nothing is added.
#include "compiler/csl/mir_demand.h"

#include <bit>

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

// Sums and products: a bit depends on those below it.
uint32_t up_to_highest(uint32_t wanted) { return wanted == 0 ? 0 : ~0u >> std::countl_zero(wanted); }

uint32_t from_lowest(uint32_t wanted) { return wanted == 0 ? 0 : ~0u << std::countr_zero(wanted); }

uint32_t shifted(Op op, const Operand& by, uint32_t wanted) {
  const bool left = op == Op::sll16 || op == Op::sll32;
  if (!is_literal(by)) return left ? up_to_highest(wanted) : from_lowest(wanted);
  const uint32_t n = uint16_t(by.value);
  if (n >= 32) return 0;
  return left ? wanted >> n : wanted << n;
}

// Of source operand k of an instruction, if `wanted` is wanted of its result.
uint32_t of_source(const isa::Inst& inst, size_t k, uint32_t wanted) {
  constexpr uint32_t kAll = ~0u, kLow = 0xFFFF;
  const auto masked = [&](bool keeps_ones) {
    const Operand& other = inst.args[3 - k];
    if (!is_literal(other)) return wanted;
    return wanted & (keeps_ones ? uint32_t(other.value) : ~uint32_t(other.value));
  };
  switch (inst.op) {
    case Op::mov16:
    case Op::mov32:
    case Op::not16:
    case Op::not32:
    case Op::xor16:
    case Op::xor32:
    case Op::wunpl:
      return wanted;
    case Op::wunph:
      return wanted << 16;
    case Op::and16:
    case Op::and32:
      return masked(true);
    case Op::or16:
    case Op::or32:
      return masked(false);
    case Op::add16:
    case Op::sub16:
    case Op::neg16:
    case Op::imul16:
    case Op::add32:
    case Op::sub32:
    case Op::neg32:
    case Op::imul32:
      return up_to_highest(wanted);
    case Op::sll16:
    case Op::slr16:
    case Op::sll32:
    case Op::slr32:
      return k == 1 ? shifted(inst.op, inst.args[2], wanted) : kAll;
    case Op::sar32:  // and the sign
      return k == 1 && is_literal(inst.args[2]) ? shifted(Op::slr32, inst.args[2], wanted) | 0x80000000u
                                                : kAll;
    case Op::select16:
    case Op::select32:
      return k == 1 ? kAll : wanted;
    case Op::wpack:
      return k == 1 ? wanted & kLow : wanted >> 16;
    case Op::extu16:
      return wanted & kLow;
    case Op::ext16:
      return (wanted & kLow) | (wanted > kLow ? 0x8000u : 0u);
    default:
      return kAll;
  }
}

}  // namespace

std::vector<uint32_t> demanded_bits(const MirFunction& f, const Code& code) {
  std::vector<uint32_t> wanted(size_t(code.next_virtual));
  const bool carries = reads_carry(code);
  bool more = true;
  const auto want = [&](const Operand& o, uint32_t bits) {
    const uint32_t all = o.kind == OperandKind::pair ? ~0u : 0xFFFFu;
    uint32_t& now = wanted[size_t(o.value)];
    more |= (bits & all & ~now) != 0;
    now |= bits & all;
  };
  while (more) {
    more = false;
    for (size_t i = code.lines.size(); i-- > 0;) {
      const Line& line = code.lines[i];
      const bool value = line.call < 0 && !line.ret && is_value(line.inst, carries);
      if (!value) {
        for_each_register(f, line, [&](const Operand& o, bool read, bool) {
          if (read) want(o, ~0u);
        });
        continue;
      }
      const uint32_t result = wanted[size_t(line.inst.args[0].value)];
      for (size_t k = 1; k < line.inst.args.size(); ++k)
        if (is_register(line.inst.args[k])) want(line.inst.args[k], of_source(line.inst, k, result));
    }
  }
  return wanted;
}

}  // namespace cs::csl::mir

// Scalar integer instructions on known operands, as docs/isa.md defines them.
#include "compiler/csl/mir_fold.h"

namespace cs::csl::mir {

using isa::Op;

namespace {

std::optional<int32_t> fold16(Op op, uint16_t a, uint16_t b, uint16_t c) {
  const int16_t sa = int16_t(a), sb = int16_t(b);
  switch (op) {
    case Op::add16:
      return uint16_t(a + b);
    case Op::sub16:
      return uint16_t(a - b);
    case Op::and16:
      return a & b;
    case Op::or16:
      return a | b;
    case Op::xor16:
      return a ^ b;
    case Op::sll16:
      return b >= 16 ? 0 : uint16_t(a << b);
    case Op::slr16:
      return b >= 16 ? 0 : a >> b;
    case Op::sar16:
      if (b >= 16) return std::nullopt;
      return uint16_t(sa >> b);
    case Op::neg16:
      return uint16_t(-a);
    case Op::not16:
      return uint16_t(~a);
    case Op::imul16:
      return uint16_t(uint32_t(a) * b);
    case Op::divu16:
      return b == 0 ? 0 : a / b;
    case Op::remu16:
      return b == 0 ? a : a % b;
    case Op::eq16:
      return a == b;
    case Op::lt16:
      return sa < sb;
    case Op::ltu16:
      return a < b;
    case Op::lte16:
      return sa <= sb;
    case Op::lteu16:
      return a <= b;
    case Op::select16:
      return a ? b : c;
    default:
      return std::nullopt;
  }
}

std::optional<int32_t> fold32(Op op, int32_t a, int32_t b) {
  const uint32_t ua = uint32_t(a), ub = uint32_t(b);
  switch (op) {
    case Op::wpack:
      return int32_t((ua & 0xFFFF) | ub << 16);
    case Op::wunpl:
      return int32_t(ua & 0xFFFF);
    case Op::wunph:
      return int32_t(ua >> 16);
    case Op::ext16:
      return int16_t(a);
    case Op::extu16:
      return int32_t(ua & 0xFFFF);
    case Op::imul16ud:
      return int32_t((ua & 0xFFFF) * (ub & 0xFFFF));
    case Op::imul16sd:
      return int32_t(int16_t(a)) * int16_t(b);
    case Op::add32:
      return int32_t(ua + ub);
    case Op::sub32:
      return int32_t(ua - ub);
    case Op::and32:
      return a & b;
    case Op::or32:
      return a | b;
    case Op::xor32:
      return a ^ b;
    case Op::neg32:
      return int32_t(0u - ua);
    case Op::not32:
      return ~a;
    case Op::imul32:
      return int32_t(ua * ub);
    case Op::sll32:
      return (ub & 0xFFFF) >= 32 ? 0 : int32_t(ua << (ub & 31));
    case Op::slr32:
      return (ub & 0xFFFF) >= 32 ? 0 : int32_t(ua >> (ub & 31));
    case Op::eq32:
      return a == b;
    case Op::lt32:
      return a < b;
    case Op::ltu32:
      return ua < ub;
    case Op::lte32:
      return a <= b;
    case Op::lteu32:
      return ua <= ub;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int32_t> fold(Op op, const std::array<int32_t, 3>& v) {
  if (const auto narrow = fold16(op, uint16_t(v[0]), uint16_t(v[1]), uint16_t(v[2]))) return narrow;
  if (op == Op::select32) return (v[0] & 0xFFFF) ? v[1] : v[2];
  return fold32(op, v[0], v[1]);
}

bool make_cheaper(isa::Inst& inst, int32_t by) {
  if (by <= 0 || (by & (by - 1)) != 0) return false;
  const int32_t shift = __builtin_ctz(uint32_t(by));
  const auto to = [&](Op op, int32_t value) {
    inst.op = op;
    inst.args[2] = {isa::OperandKind::imm, value, 0};
    return true;
  };
  if (inst.op == Op::imul32) return to(Op::sll32, shift);
  if (inst.op == Op::divu16) return to(Op::slr16, shift);
  if (inst.op == Op::divu32) return to(Op::slr32, shift);
  if (inst.op == Op::remu16) return to(Op::and16, by - 1);
  if (inst.op == Op::remu32) return to(Op::and32, by - 1);
  return false;
}

}  // namespace cs::csl::mir

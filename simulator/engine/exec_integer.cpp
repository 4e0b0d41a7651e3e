// Values of moves and integer instructions, on raw bits. 16-bit operands come zero-extended, and 16-bit results are cut
// to the low half by whoever stores them; bit 16 of add16 and addc16 is the carry out.
#include <bit>

#include "simulator/engine/exec_tables.h"

namespace cs::sim {
namespace {

using isa::Op;

int32_t s16(uint32_t a) { return int16_t(a); }

uint32_t divide_signed(int64_t a, int64_t b) { return b == 0 ? 0 : uint32_t(a / b); }
uint32_t remainder_signed(int64_t a, int64_t b) { return b == 0 ? uint32_t(a) : uint32_t(a % b); }

constexpr NamedFn kFunctions[] = {
    {Op::mov16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::mov32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::fmovh, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::fmovs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::imov16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::imov32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    {Op::wpack, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a | b << 16; }},
    {Op::wunpl, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a & 0xFFFF; }},
    {Op::wunph, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a >> 16; }},
    {Op::ext16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(s16(a)); }},
    {Op::extu16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return a; }},
    // ---- 16 bits
    {Op::add16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a + b; }},
    {Op::addc16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a + (b & 0xFFFF) + (b >> 16 & 1); }},
    {Op::sub16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return (a - b) & 0xFFFF; }},
    {Op::and16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a & b; }},
    {Op::or16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a | b; }},
    {Op::xor16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a ^ b; }},
    {Op::sll16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b < 16 ? a << b & 0xFFFF : 0; }},
    {Op::slr16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b < 16 ? a >> b : 0; }},
    {Op::sar16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(s16(a) >> (b < 16 ? b : 15)) & 0xFFFF; }},
    {Op::clz16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(std::countl_zero(uint16_t(a))); }},
    {Op::ctz16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(std::countr_zero(uint16_t(a))); }},
    {Op::popcnt16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(std::popcount(a)); }},
    {Op::neg16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return (0 - a) & 0xFFFF; }},
    {Op::not16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return ~a & 0xFFFF; }},
    {Op::imul16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a * b & 0xFFFF; }},
    {Op::imul16ud, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a * b; }},
    {Op::imul16sd, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(s16(a) * s16(b)); }},
    {Op::div16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return divide_signed(s16(a), s16(b)) & 0xFFFF; }},
    {Op::divu16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b == 0 ? 0 : a / b; }},
    {Op::rem16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return remainder_signed(s16(a), s16(b)) & 0xFFFF; }},
    {Op::remu16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b == 0 ? a : a % b; }},
    {Op::eq16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a == b); }},
    {Op::lt16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(s16(a) < s16(b)); }},
    {Op::ltu16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a < b); }},
    {Op::lte16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(s16(a) <= s16(b)); }},
    {Op::lteu16, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a <= b); }},
    {Op::select16, [](uint32_t a, uint32_t b, uint32_t c, uint32_t) { return a ? b : c; }},
    // ---- 32 bits
    {Op::add32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a + b; }},
    {Op::sub32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a - b; }},
    {Op::and32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a & b; }},
    {Op::or32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a | b; }},
    {Op::xor32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a ^ b; }},
    {Op::sll32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b < 32 ? a << b : 0; }},
    {Op::slr32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b < 32 ? a >> b : 0; }},
    {Op::sar32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(int32_t(a) >> (b < 32 ? b : 31)); }},
    {Op::neg32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return 0 - a; }},
    {Op::not32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return ~a; }},
    {Op::imul32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return a * b; }},
    {Op::div32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return divide_signed(int32_t(a), int32_t(b)); }},
    {Op::divu32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b == 0 ? 0 : a / b; }},
    {Op::rem32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return remainder_signed(int32_t(a), int32_t(b)); }},
    {Op::remu32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return b == 0 ? a : a % b; }},
    {Op::eq32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a == b); }},
    {Op::lt32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(int32_t(a) < int32_t(b)); }},
    {Op::ltu32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a < b); }},
    {Op::lte32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(int32_t(a) <= int32_t(b)); }},
    {Op::lteu32, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(a <= b); }},
    {Op::select32, [](uint32_t a, uint32_t b, uint32_t c, uint32_t) { return a ? b : c; }},
};

}  // namespace

std::span<const NamedFn> integer_functions() { return kFunctions; }

}  // namespace cs::sim

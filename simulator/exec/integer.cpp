// Values of moves and integer instructions, on raw bits. 16-bit operands come zero-extended, and 16-bit
// results are cut to the low half by whoever stores them; bit 16 of add16 and addc16 is the carry out.
#include <bit>

#include "simulator/exec/tables.h"

namespace cs::sim {
namespace {

using isa::Op;
using U = uint32_t;

int32_t s16(uint32_t a) { return int16_t(a); }

uint32_t divide_signed(int64_t a, int64_t b) { return b == 0 ? 0 : U(a / b); }
uint32_t remainder_signed(int64_t a, int64_t b) { return b == 0 ? U(a) : U(a % b); }

// clang-format off
constexpr NamedFn kFunctions[] = {
    {Op::mov16, [](U a, U, U, U) { return a; }},
    {Op::mov32, [](U a, U, U, U) { return a; }},
    {Op::fmovh, [](U a, U, U, U) { return a; }},
    {Op::fmovs, [](U a, U, U, U) { return a; }},
    {Op::imov16, [](U a, U, U, U) { return a; }},
    {Op::imov32, [](U a, U, U, U) { return a; }},
    {Op::wpack, [](U a, U b, U, U) { return a | b << 16; }},
    {Op::wunpl, [](U a, U, U, U) { return a & 0xFFFF; }},
    {Op::wunph, [](U a, U, U, U) { return a >> 16; }},
    {Op::ext16, [](U a, U, U, U) { return U(s16(a)); }},
    {Op::extu16, [](U a, U, U, U) { return a; }},
    // ---- 16 bits
    {Op::add16, [](U a, U b, U, U) { return a + b; }},
    {Op::addc16, [](U a, U b, U, U) { return a + (b & 0xFFFF) + (b >> 16 & 1); }},
    {Op::sub16, [](U a, U b, U, U) { return (a - b) & 0xFFFF; }},
    {Op::and16, [](U a, U b, U, U) { return a & b; }},
    {Op::or16, [](U a, U b, U, U) { return a | b; }},
    {Op::xor16, [](U a, U b, U, U) { return a ^ b; }},
    {Op::sll16, [](U a, U b, U, U) { return b < 16 ? a << b & 0xFFFF : 0; }},
    {Op::slr16, [](U a, U b, U, U) { return b < 16 ? a >> b : 0; }},
    {Op::sar16, [](U a, U b, U, U) { return U(s16(a) >> (b < 16 ? b : 15)) & 0xFFFF; }},
    {Op::clz16, [](U a, U, U, U) { return U(std::countl_zero(uint16_t(a))); }},
    {Op::ctz16, [](U a, U, U, U) { return U(std::countr_zero(uint16_t(a))); }},
    {Op::popcnt16, [](U a, U, U, U) { return U(std::popcount(a)); }},
    {Op::neg16, [](U a, U, U, U) { return (0 - a) & 0xFFFF; }},
    {Op::not16, [](U a, U, U, U) { return ~a & 0xFFFF; }},
    {Op::imul16, [](U a, U b, U, U) { return a * b & 0xFFFF; }},
    {Op::imul16ud, [](U a, U b, U, U) { return a * b; }},
    {Op::imul16sd, [](U a, U b, U, U) { return U(s16(a) * s16(b)); }},
    {Op::div16, [](U a, U b, U, U) { return divide_signed(s16(a), s16(b)) & 0xFFFF; }},
    {Op::divu16, [](U a, U b, U, U) { return b == 0 ? 0 : a / b; }},
    {Op::rem16, [](U a, U b, U, U) { return remainder_signed(s16(a), s16(b)) & 0xFFFF; }},
    {Op::remu16, [](U a, U b, U, U) { return b == 0 ? a : a % b; }},
    {Op::eq16, [](U a, U b, U, U) { return U(a == b); }},
    {Op::lt16, [](U a, U b, U, U) { return U(s16(a) < s16(b)); }},
    {Op::ltu16, [](U a, U b, U, U) { return U(a < b); }},
    {Op::lte16, [](U a, U b, U, U) { return U(s16(a) <= s16(b)); }},
    {Op::lteu16, [](U a, U b, U, U) { return U(a <= b); }},
    {Op::select16, [](U a, U b, U c, U) { return a ? b : c; }},
    // ---- 32 bits
    {Op::add32, [](U a, U b, U, U) { return a + b; }},
    {Op::sub32, [](U a, U b, U, U) { return a - b; }},
    {Op::and32, [](U a, U b, U, U) { return a & b; }},
    {Op::or32, [](U a, U b, U, U) { return a | b; }},
    {Op::xor32, [](U a, U b, U, U) { return a ^ b; }},
    {Op::sll32, [](U a, U b, U, U) { return b < 32 ? a << b : 0; }},
    {Op::slr32, [](U a, U b, U, U) { return b < 32 ? a >> b : 0; }},
    {Op::sar32, [](U a, U b, U, U) { return U(int32_t(a) >> (b < 32 ? b : 31)); }},
    {Op::neg32, [](U a, U, U, U) { return 0 - a; }},
    {Op::not32, [](U a, U, U, U) { return ~a; }},
    {Op::imul32, [](U a, U b, U, U) { return a * b; }},
    {Op::div32, [](U a, U b, U, U) { return divide_signed(int32_t(a), int32_t(b)); }},
    {Op::divu32, [](U a, U b, U, U) { return b == 0 ? 0 : a / b; }},
    {Op::rem32, [](U a, U b, U, U) { return remainder_signed(int32_t(a), int32_t(b)); }},
    {Op::remu32, [](U a, U b, U, U) { return b == 0 ? a : a % b; }},
    {Op::eq32, [](U a, U b, U, U) { return U(a == b); }},
    {Op::lt32, [](U a, U b, U, U) { return U(int32_t(a) < int32_t(b)); }},
    {Op::ltu32, [](U a, U b, U, U) { return U(a < b); }},
    {Op::lte32, [](U a, U b, U, U) { return U(int32_t(a) <= int32_t(b)); }},
    {Op::lteu32, [](U a, U b, U, U) { return U(a <= b); }},
    {Op::select32, [](U a, U b, U c, U) { return a ? b : c; }},
};
// clang-format on

}  // namespace

std::span<const NamedFn> integer_functions() { return kFunctions; }

}  // namespace cs::sim

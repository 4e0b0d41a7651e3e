// Values of 32-bit float instructions and of conversions between 32-bit floats and integers
// (runtime/numerics/single.h).
#include "runtime/numerics/single.h"
#include "simulator/exec/tables.h"

namespace cs::sim {
namespace {

using isa::Op;
using U = uint32_t;
namespace n = numerics;

float f(uint32_t bits) { return n::from_bits(bits); }
uint32_t u(float x) { return n::to_bits(x); }

// clang-format off
constexpr NamedFn kFunctions[] = {
    {Op::fadds, [](U a, U b, U, U) { return u(n::add(f(a), f(b))); }, 1},
    {Op::fsubs, [](U a, U b, U, U) { return u(n::sub(f(a), f(b))); }, 1},
    {Op::fmuls, [](U a, U b, U, U) { return u(n::mul(f(a), f(b))); }, 1},
    {Op::fmacs, [](U a, U b, U s, U) { return u(n::fma(f(a), f(b), f(s))); }, 2},
    {Op::fmaxs, [](U a, U b, U, U) { return u(n::max(f(a), f(b))); }, 1},
    {Op::fmins, [](U a, U b, U, U) { return u(n::min(f(a), f(b))); }, 1},
    {Op::fabss, [](U a, U, U, U) { return n::abs_bits(a); }},
    {Op::fnegs, [](U a, U, U, U) { return n::neg_bits(a); }},
    {Op::fdivs, [](U a, U b, U, U) { return u(n::div(f(a), f(b))); }, 1},
    {Op::feqs, [](U a, U b, U, U) { return U(f(a) == f(b)); }},
    {Op::flts, [](U a, U b, U, U) { return U(f(a) < f(b)); }},
    {Op::flteqs, [](U a, U b, U, U) { return U(f(a) <= f(b)); }},
    {Op::fnorms, [](U a, U, U, U) { return u(n::norm(f(a))); }},
    {Op::fscales, [](U a, U b, U, U) { return u(n::scale(f(a), int16_t(b))); }},
    // ---- conversions
    {Op::xp162fs, [](U a, U, U, U) { return u(float(int16_t(a))); }},
    {Op::xpu162fs, [](U a, U, U, U) { return u(float(uint16_t(a))); }},
    {Op::xp322fs, [](U a, U, U, U) { return u(float(int32_t(a))); }},
    {Op::xpu322fs, [](U a, U, U, U) { return u(float(a)); }},
    {Op::fs2xp16, [](U a, U, U, U) { return U(uint16_t(n::to_int<int16_t>(f(a)))); }},
    {Op::fs2xpu16, [](U a, U, U, U) { return U(n::to_int<uint16_t>(f(a))); }},
    {Op::fs2xp32, [](U a, U, U, U) { return U(n::to_int<int32_t>(f(a))); }},
    {Op::fs2xpu32, [](U a, U, U, U) { return n::to_int<uint32_t>(f(a)); }},
};
// clang-format on

}  // namespace

std::span<const NamedFn> single_functions() { return kFunctions; }

}  // namespace cs::sim

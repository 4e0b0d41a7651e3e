// Values of 32-bit float instructions and of conversions between 32-bit floats and integers (runtime/numerics/single.h).
#include "runtime/numerics/single.h"
#include "simulator/engine/exec_tables.h"

namespace cs::sim {
namespace {

using isa::Op;
namespace n = numerics;

float f(uint32_t bits) { return n::from_bits(bits); }
uint32_t u(float x) { return n::to_bits(x); }

constexpr NamedFn kFunctions[] = {
    {Op::fadds, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::add(f(a), f(b))); }, 1},
    {Op::fsubs, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::sub(f(a), f(b))); }, 1},
    {Op::fmuls, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::mul(f(a), f(b))); }, 1},
    {Op::fmacs, [](uint32_t a, uint32_t b, uint32_t s, uint32_t) { return u(n::fma(f(a), f(b), f(s))); }, 2},
    {Op::fmaxs, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::max(f(a), f(b))); }, 1},
    {Op::fmins, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::min(f(a), f(b))); }, 1},
    {Op::fabss, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return n::abs_bits(a); }},
    {Op::fnegs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return n::neg_bits(a); }},
    {Op::fdivs, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::div(f(a), f(b))); }, 1},
    {Op::feqs, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(f(a) == f(b)); }},
    {Op::flts, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(f(a) < f(b)); }},
    {Op::flteqs, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(f(a) <= f(b)); }},
    {Op::fnorms, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return u(n::norm(f(a))); }},
    {Op::fscales, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return u(n::scale(f(a), int16_t(b))); }},
    // ---- conversions
    {Op::xp162fs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return u(float(int16_t(a))); }},
    {Op::xpu162fs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return u(float(uint16_t(a))); }},
    {Op::xp322fs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return u(float(int32_t(a))); }},
    {Op::xpu322fs, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return u(float(a)); }},
    {Op::fs2xp16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(uint16_t(n::to_int<int16_t>(f(a)))); }},
    {Op::fs2xpu16, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(n::to_int<uint16_t>(f(a))); }},
    {Op::fs2xp32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(n::to_int<int32_t>(f(a))); }},
    {Op::fs2xpu32, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return n::to_int<uint32_t>(f(a)); }},
};

}  // namespace

std::span<const NamedFn> single_functions() { return kFunctions; }

}  // namespace cs::sim

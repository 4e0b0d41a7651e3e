// Values of 16-bit float instructions, of the mixed-precision ones and of the conversions that involve the 16-bit
// format, once per format (runtime/numerics/half.h).
#include "runtime/numerics/half.h"
#include "runtime/numerics/single.h"
#include "simulator/engine/exec_tables.h"

namespace cs::sim {
namespace {

using isa::Op;
namespace n = numerics;

uint16_t h(uint32_t bits) { return uint16_t(bits); }

template <Fp16Format F>
struct Functions {
  using H = n::Half<F>;
  static float wide(uint32_t a) { return n::from_bits(H::to_f32(h(a))); }

  static constexpr NamedFn kList[] = {
      {Op::faddh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::add(h(a), h(b))); }, 1},
      {Op::fsubh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::sub(h(a), h(b))); }, 1},
      {Op::fmulh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::mul(h(a), h(b))); }, 1},
      {Op::fmach, [](uint32_t a, uint32_t b, uint32_t s, uint32_t) { return uint32_t(H::fma(h(a), h(b), h(s))); }, 2},
      {Op::fmaxh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::max(h(a), h(b))); }, 1},
      {Op::fminh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::min(h(a), h(b))); }, 1},
      {Op::fabsh, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(H::abs(h(a))); }},
      {Op::fnegh, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(H::neg(h(a))); }},
      {Op::fdivh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::div(h(a), h(b))); }, 1},
      {Op::feqh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::eq(h(a), h(b))); }},
      {Op::flth, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::lt(h(a), h(b))); }},
      {Op::flteqh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::le(h(a), h(b))); }},
      {Op::fnormh, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(H::norm(h(a))); }},
      {Op::fscaleh, [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return uint32_t(H::scale(h(a), int16_t(b))); }},
      // ---- 16-bit sources, 32-bit result
      {Op::faddhs,
       [](uint32_t a, uint32_t b, uint32_t, uint32_t) { return n::to_bits(n::add(wide(a), n::from_bits(b))); }, 1},
      {Op::fmachs,
       [](uint32_t a, uint32_t b, uint32_t s, uint32_t) {
         return n::to_bits(n::fma(n::from_bits(a), wide(b), wide(s)));
       },
       2},
      // ---- conversions
      {Op::fh2s, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return H::to_f32(h(a)); }},
      {Op::fs2h, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(H::from_f32(a)); }},
      {Op::xp162fh, [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(H::from_int(int16_t(a))); }},
      {Op::fh2xp16,
       [](uint32_t a, uint32_t, uint32_t, uint32_t) { return uint32_t(uint16_t(H::to_int(h(a), -32768, 32767))); }},
  };
};

}  // namespace

std::span<const NamedFn> half_functions(Fp16Format format) {
  switch (format) {
    case Fp16Format::bf16: return Functions<Fp16Format::bf16>::kList;
    case Fp16Format::cb16: return Functions<Fp16Format::cb16>::kList;
    default: return Functions<Fp16Format::f16>::kList;
  }
}

}  // namespace cs::sim

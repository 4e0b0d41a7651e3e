// Values of 16-bit float instructions, of the mixed-precision ones and of the conversions that involve the
// 16-bit format, once per format (runtime/numerics/half.h).
#include "runtime/numerics/half.h"
#include "runtime/numerics/single.h"
#include "simulator/exec/tables.h"

namespace cs::sim {
namespace {

using isa::Op;
using U = uint32_t;
namespace n = numerics;

uint16_t h(uint32_t bits) { return uint16_t(bits); }

template <Fp16Format F>
struct Functions {
  using H = n::Half<F>;
  static float wide(uint32_t a) { return n::from_bits(H::to_f32(h(a))); }

  // clang-format off
  static constexpr NamedFn kList[] = {
      {Op::faddh, [](U a, U b, U, U) { return U(H::add(h(a), h(b))); }, 1},
      {Op::fsubh, [](U a, U b, U, U) { return U(H::sub(h(a), h(b))); }, 1},
      {Op::fmulh, [](U a, U b, U, U) { return U(H::mul(h(a), h(b))); }, 1},
      {Op::fmach, [](U a, U b, U s, U) { return U(H::fma(h(a), h(b), h(s))); }, 2},
      {Op::fmaxh, [](U a, U b, U, U) { return U(H::max(h(a), h(b))); }, 1},
      {Op::fminh, [](U a, U b, U, U) { return U(H::min(h(a), h(b))); }, 1},
      {Op::fabsh, [](U a, U, U, U) { return U(H::abs(h(a))); }},
      {Op::fnegh, [](U a, U, U, U) { return U(H::neg(h(a))); }},
      {Op::fdivh, [](U a, U b, U, U) { return U(H::div(h(a), h(b))); }, 1},
      {Op::feqh, [](U a, U b, U, U) { return U(H::eq(h(a), h(b))); }},
      {Op::flth, [](U a, U b, U, U) { return U(H::lt(h(a), h(b))); }},
      {Op::flteqh, [](U a, U b, U, U) { return U(H::le(h(a), h(b))); }},
      {Op::fnormh, [](U a, U, U, U) { return U(H::norm(h(a))); }},
      {Op::fscaleh, [](U a, U b, U, U) { return U(H::scale(h(a), int16_t(b))); }},
      // ---- 16-bit sources, 32-bit result
      {Op::faddhs,
       [](U a, U b, U, U) { return n::to_bits(n::add(wide(a), n::from_bits(b))); }, 1},
      {Op::fmachs,
       [](U a, U b, U s, U) {
         return n::to_bits(n::fma(n::from_bits(a), wide(b), wide(s)));
       },
       2},
      // ---- conversions
      {Op::fh2s, [](U a, U, U, U) { return H::to_f32(h(a)); }},
      {Op::fs2h, [](U a, U, U, U) { return U(H::from_f32(a)); }},
      {Op::xp162fh, [](U a, U, U, U) { return U(H::from_int(int16_t(a))); }},
      {Op::fh2xp16,
       [](U a, U, U, U) { return U(uint16_t(H::to_int(h(a), -32768, 32767))); }},
  };
  // clang-format on
};

}  // namespace

std::span<const NamedFn> half_functions(Fp16Format format) {
  switch (format) {
    case Fp16Format::bf16:
      return Functions<Fp16Format::bf16>::kList;
    case Fp16Format::cb16:
      return Functions<Fp16Format::cb16>::kList;
    default:
      return Functions<Fp16Format::f16>::kList;
  }
}

}  // namespace cs::sim

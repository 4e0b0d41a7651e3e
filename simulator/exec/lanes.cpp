// f16 through single precision has the bits of one rounding:
//
//   add, sub, mul  A product of two f16 is a single (22 bits). A sum is rounded twice, to 24 bits and to 11;
//                  that is harmless, since 24 >= 2 * 11 + 2 (Figueroa), and a sum small enough to be subnormal is
//                  exact.
//   fma            The product is exact. The sum of it and a is rounded to odd: to nearest, with the error of
//                  that (Knuth's two-sum); if there is one and the last bit is even, to the neighbour on the
//                  error's side. Rounding to 11 bits what was rounded to odd with 13 or more is rounding once
//                  (Boldo, Melquiond).
//
// A NaN becomes the positive quiet one.
#include "simulator/exec/lanes.h"

#include <bit>
#include <cstring>

#include "runtime/numerics/single.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace cs::sim::lanes {

namespace {
Level allowed = Level::avx512;
}
void allow(Level most) { allowed = most; }

#if defined(__x86_64__)
#define CS_HALF __attribute__((target("avx2,f16c")))
#define CS_WIDE __attribute__((target("avx512f")))

// Not every compiler's __builtin_cpu_supports knows it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool has_half() {
  static const bool kHas = __builtin_cpu_supports("avx2") && has_f16c();
  return kHas && allowed >= Level::avx2;
}

bool has_wide() {
  static const bool kHas = __builtin_cpu_supports("avx512f") != 0;
  return kHas && allowed >= Level::avx512;
}

namespace {

constexpr int kNan = 0x7FC00000, kInfinity = 0x7F800000, kMagnitude = 0x7FFFFFFF;

CS_HALF inline __m256 load(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
CS_HALF inline __m256 one_nan(__m256 x) {
  return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(kNan)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
CS_HALF inline void store(uint16_t* p, __m256 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(one_nan(x), _MM_FROUND_TO_NEAREST_INT));
}

// a + p, rounded to odd.
CS_HALF inline __m256 add_to_odd(__m256 a, __m256 p) {
  const __m256 sum = _mm256_add_ps(a, p);
  const __m256 of_p = _mm256_sub_ps(sum, a);
  const __m256 error = _mm256_add_ps(_mm256_sub_ps(a, _mm256_sub_ps(sum, of_p)), _mm256_sub_ps(p, of_p));
  const __m256i bits = _mm256_castps_si256(sum), zero = _mm256_setzero_si256();
  const __m256i exact = _mm256_castps_si256(_mm256_cmp_ps(error, _mm256_setzero_ps(), _CMP_EQ_OQ));
  const __m256i odd = _mm256_cmpgt_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(1)), zero);
  const __m256i finite =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(kInfinity), _mm256_and_si256(bits, _mm256_set1_epi32(kMagnitude)));
  // Away from zero if error and sum have the same sign, else towards it: + 1 or - 1 on the bits.
  const __m256i towards = _mm256_srai_epi32(_mm256_xor_si256(bits, _mm256_castps_si256(error)), 31);
  const __m256i by = _mm256_or_si256(towards, _mm256_set1_epi32(1));
  const __m256i change = _mm256_andnot_si256(_mm256_or_si256(exact, odd), finite);
  return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_and_si256(by, change)));
}

}  // namespace

CS_HALF void add_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8) store(out + i, _mm256_add_ps(load(a + i), load(b + i)));
}
CS_HALF void sub_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8) store(out + i, _mm256_sub_ps(load(a + i), load(b + i)));
}
CS_HALF void mul_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8) store(out + i, _mm256_mul_ps(load(a + i), load(b + i)));
}
CS_HALF void fma_half(const uint16_t* a, const uint16_t* b, uint16_t s, uint16_t* out, uint32_t count) {
  const __m256 factor = _mm256_cvtph_ps(_mm_set1_epi16(short(s)));
  for (uint32_t i = 0; i < count; i += 8)
    store(out + i, add_to_odd(load(a + i), _mm256_mul_ps(load(b + i), factor)));
}
CS_HALF void half_to_single(const uint16_t* a, uint32_t* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_castps_si256(one_nan(load(a + i))));
}
CS_HALF void single_to_half(const uint32_t* a, uint16_t* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8)
    store(out + i, _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i))));
}

CS_HALF void add_mixed(const uint16_t* a, const float* b, float* out, uint32_t count) {
  for (uint32_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(out + i, one_nan(_mm256_add_ps(load(a + i), _mm256_loadu_ps(b + i))));
}
// The product of two f16 is exact.
CS_HALF void fma_mixed(const float* a, const uint16_t* b, uint16_t s, float* out, uint32_t count) {
  const __m256 factor = _mm256_cvtph_ps(_mm_set1_epi16(short(s)));
  for (uint32_t i = 0; i < count; i += 8)
    _mm256_storeu_ps(out + i,
                     one_nan(_mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_mul_ps(load(b + i), factor))));
}
// Of equal ones (zeros) the positive one.
CS_HALF void max_single(const float* a, const float* b, float* out, uint32_t count) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(kNan));
  for (uint32_t i = 0; i < count; i += 8) {
    const __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
    const __m256 larger = _mm256_blendv_ps(y, x, _mm256_cmp_ps(x, y, _CMP_GT_OQ));
    const __m256 ordered = _mm256_blendv_ps(larger, _mm256_and_ps(x, y), _mm256_cmp_ps(x, y, _CMP_EQ_OQ));
    _mm256_storeu_ps(out + i, _mm256_blendv_ps(ordered, nan, _mm256_cmp_ps(x, y, _CMP_UNORD_Q)));
  }
}

// As numbers that rise with the value: of negative ones the bits below the sign are inverted.
CS_HALF void max_half(const uint16_t* a, const uint16_t* b, uint16_t infinity, uint16_t nan, uint16_t* out,
                      uint32_t count) {
  const __m256i magnitude = _mm256_set1_epi16(0x7FFF), largest = _mm256_set1_epi16(short(infinity));
  for (uint32_t i = 0; i < count; i += 16) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i));
    const __m256i of_x = _mm256_xor_si256(x, _mm256_and_si256(_mm256_srai_epi16(x, 15), magnitude));
    const __m256i of_y = _mm256_xor_si256(y, _mm256_and_si256(_mm256_srai_epi16(y, 15), magnitude));
    const __m256i larger = _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi16(of_y, of_x));
    const __m256i bad = _mm256_or_si256(_mm256_cmpgt_epi16(_mm256_and_si256(x, magnitude), largest),
                                        _mm256_cmpgt_epi16(_mm256_and_si256(y, magnitude), largest));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_blendv_epi8(larger, _mm256_set1_epi16(short(nan)), bad));
  }
}

namespace {

template <Single kOp>
CS_WIDE void wide(const uint8_t* a, const uint8_t* b, float s, uint8_t* out, uint32_t count) {
  const __m512 factor = _mm512_set1_ps(s), nan = _mm512_castsi512_ps(_mm512_set1_epi32(kNan));
  for (uint32_t i = 0; i < count; i += 16) {
    const __mmask16 lanes = count - i >= 16 ? __mmask16(0xFFFF) : __mmask16((1u << (count - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(lanes, a + size_t(i) * 4);
    const __m512 y = _mm512_maskz_loadu_ps(lanes, b + size_t(i) * 4);
    __m512 r;
    if constexpr (kOp == Single::add) r = _mm512_add_ps(x, y);
    if constexpr (kOp == Single::sub) r = _mm512_sub_ps(x, y);
    if constexpr (kOp == Single::mul) r = _mm512_mul_ps(x, y);
    if constexpr (kOp == Single::fma) r = _mm512_fmadd_ps(y, factor, x);
    const __mmask16 bad = _mm512_cmp_ps_mask(r, r, _CMP_UNORD_Q);
    _mm512_mask_storeu_ps(out + size_t(i) * 4, lanes, _mm512_mask_mov_ps(r, bad, nan));
  }
}

}  // namespace

void single(Single op, const uint8_t* a, const uint8_t* b, float s, uint8_t* out, uint32_t count) {
  switch (op) {
    case Single::add:
      return wide<Single::add>(a, b, s, out, count);
    case Single::sub:
      return wide<Single::sub>(a, b, s, out, count);
    case Single::mul:
      return wide<Single::mul>(a, b, s, out, count);
    case Single::fma:
      return wide<Single::fma>(a, b, s, out, count);
  }
}
#undef CS_HALF
#undef CS_WIDE

#else
void add_mixed(const uint16_t*, const float*, float*, uint32_t) {}
void fma_mixed(const float*, const uint16_t*, uint16_t, float*, uint32_t) {}
void max_single(const float*, const float*, float*, uint32_t) {}
bool has_half() { return false; }
bool has_wide() { return false; }
void add_half(const uint16_t*, const uint16_t*, uint16_t*, uint32_t) {}
void sub_half(const uint16_t*, const uint16_t*, uint16_t*, uint32_t) {}
void mul_half(const uint16_t*, const uint16_t*, uint16_t*, uint32_t) {}
void fma_half(const uint16_t*, const uint16_t*, uint16_t, uint16_t*, uint32_t) {}
void max_half(const uint16_t*, const uint16_t*, uint16_t, uint16_t, uint16_t*, uint32_t) {}
void half_to_single(const uint16_t*, uint32_t*, uint32_t) {}
void single_to_half(const uint32_t*, uint16_t*, uint32_t) {}
void single(Single, const uint8_t*, const uint8_t*, float, uint8_t*, uint32_t) {}
#endif

// ---- fused multiply-add: the processor's instruction where it has one, else the library; equal bits by IEEE
// 754

namespace {
namespace n = numerics;

// A macro, because a function would not be inlined into one with another target attribute.
#define CS_FMA_CHUNK(a, b, s, out, count)                      \
  for (uint32_t i = 0; i < (count); ++i) {                     \
    const float r = __builtin_fmaf((b)[i], (s), (a)[i]);       \
    (out)[i] = r != r ? std::bit_cast<float>(n::kNanBits) : r; \
  }
#define CS_FMA_RUN(running, p, stride, s, count)                               \
  for (uint32_t i = 0; i < (count); ++i, (p) += (stride)) {                    \
    float x;                                                                   \
    std::memcpy(&x, (p), 4);                                                   \
    (running) = __builtin_fmaf(x, (s), (running));                             \
    if ((running) != (running)) (running) = std::bit_cast<float>(n::kNanBits); \
  }

void fma_chunk_library(const float* a, const float* b, float s, float* out, uint32_t count) {
  CS_FMA_CHUNK(a, b, s, out, count)
}
float fma_run_library(float running, const uint8_t* p, int stride, float s, uint32_t count) {
  CS_FMA_RUN(running, p, stride, s, count)
  return running;
}

#if defined(__x86_64__) && !defined(__FMA__)
__attribute__((target("avx2,fma"))) void fma_chunk_fast(const float* a, const float* b, float s, float* out,
                                                        uint32_t count) {
  CS_FMA_CHUNK(a, b, s, out, count)
}
__attribute__((target("avx2,fma"))) float fma_run_fast(float running, const uint8_t* p, int stride, float s,
                                                       uint32_t count) {
  CS_FMA_RUN(running, p, stride, s, count)
  return running;
}
bool has_fma() {
  static const bool kHas = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return kHas && allowed >= Level::avx2;
}
#else
constexpr auto fma_chunk_fast = fma_chunk_library;
constexpr auto fma_run_fast = fma_run_library;
bool has_fma() { return true; }
#endif
#undef CS_FMA_CHUNK
#undef CS_FMA_RUN
}  // namespace

void fma_chunk(const float* a, const float* b, float s, float* out, uint32_t count) {
  (has_fma() ? fma_chunk_fast : fma_chunk_library)(a, b, s, out, count);
}
float fma_run(float running, const uint8_t* elements, int stride, float s, uint32_t count) {
  return (has_fma() ? fma_run_fast : fma_run_library)(running, elements, stride, s, count);
}

}  // namespace cs::sim::lanes

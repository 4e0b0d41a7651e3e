// Chunks of vector operations in SIMD registers of the processor that runs them, chosen at run time. Each has
// the bits of the element functions (runtime/numerics), and a caller that does without it where it is not
// there.
#pragma once

#include <cstdint>

namespace cs::sim::lanes {

// What may be used, at most: for tests, which hold all levels to the same bits.
enum class Level : uint8_t { plain, avx2, avx512 };
void allow(Level most);

// ---- f16 through single precision; `count` is a multiple of 16
bool has_half();
void add_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count);
void sub_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count);
void mul_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint32_t count);
void fma_half(const uint16_t* a, const uint16_t* b, uint16_t s, uint16_t* out, uint32_t count);  // a + b * s
// Any 16-bit format: `infinity` is the bits of its infinity, `nan` of the NaN that it gives.
void max_half(const uint16_t* a, const uint16_t* b, uint16_t infinity, uint16_t nan, uint16_t* out,
              uint32_t count);
void half_to_single(const uint16_t* a, uint32_t* out, uint32_t count);
void single_to_half(const uint32_t* a, uint16_t* out, uint32_t count);
void add_mixed(const uint16_t* a, const float* b, float* out, uint32_t count);
void fma_mixed(const float* a, const uint16_t* b, uint16_t s, float* out, uint32_t count);  // a + b * s
void max_single(const float* a, const float* b, float* out, uint32_t count);

// ---- f32 on every processor: a + b * s, rounded once. A run keeps the sum in a register; its elements are
// `stride` bytes apart.
void fma_chunk(const float* a, const float* b, float s, float* out, uint32_t count);
float fma_run(float running, const uint8_t* elements, int stride, float s, uint32_t count);

// ---- f32 in place: out[i] = a[i] op b[i] (fma: a[i] + b[i] * s) of elements that lie one behind the other,
// any count. An element may be read before 15 elements in front of it are written.
bool has_wide();
enum class Single : uint8_t { add, sub, mul, fma };
void single(Single, const uint8_t* a, const uint8_t* b, float s, uint8_t* out, uint32_t count);

}  // namespace cs::sim::lanes

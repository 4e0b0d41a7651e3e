// Whole 1-D vectors over memory and scalars, with exactly the element-by-element result.
//
//   1. Check the address range of every operand. If an element would fault, or there is a carry, do the
//   elements one by
//      one through the element function: slow, and exact up to the fault.
//   2. With a register destination that accumulates: one pass with the running value in a register.
//   3. Otherwise in chunks: gather the sources into local arrays, compute, scatter. That is legal when no
//   element of a
//      chunk reads what an earlier element of the same chunk writes: a source is scalar, disjoint from the
//      destination, identical to it, or ahead of it with the same stride. Else one by one.
//   4. The inner loop is specialised for the common instructions, so that the compiler makes SIMD code of it;
//   others
//      call the element function.
#include <algorithm>

#include "runtime/numerics/half.h"
#include "runtime/numerics/single.h"
#include "simulator/exec/exec.h"
#include "simulator/exec/lanes.h"
#include "simulator/exec/memory.h"

namespace cs::sim {
namespace {

using isa::Op;
namespace n = numerics;

constexpr uint32_t kChunk = 128;

// ---- addresses

struct Range {
  int64_t low = 0, high = 0;  // bytes [low, high)
};

Range range_of(const VectorOperand& v, uint32_t count, int bytes) {
  const int64_t first = v.base, last = first + int64_t(count - 1) * v.stride_bytes;
  return {std::min(first, last), std::max(first, last) + bytes};
}

bool inside(const VectorOperand& v, uint32_t count, int bytes, const MemoryView& memory) {
  if (!v.memory || bytes == 0) return true;
  if (bytes > 1 && (v.base | v.stride_bytes) & 1) return false;
  const Range r = range_of(v, count, bytes);
  return r.low >= int64_t(memory.low) && r.high <= int64_t(memory.end);
}

// Whether reading a whole chunk of `src` before writing a chunk of `dst` gives what element order gives.
bool may_gather(const VectorOperand& src, int src_bytes, const VectorOperand& dst, int dst_bytes,
                uint32_t count) {
  if (!src.memory || src_bytes == 0 || !dst.memory) return true;
  const Range s = range_of(src, count, src_bytes), d = range_of(dst, count, dst_bytes);
  if (s.high <= d.low || d.high <= s.low) return true;
  if (src_bytes != dst_bytes || src.stride_bytes != dst.stride_bytes) return false;
  if (std::abs(dst.stride_bytes) < dst_bytes) return false;  // elements overlap each other
  return src.stride_bytes > 0 ? src.base >= dst.base : src.base <= dst.base;
}

// ---- one by one through the element function

VectorResult one_by_one(const ElementOp& op, MemoryVector& v, const MemoryView& memory, bool& carry) {
  VectorResult result;
  const auto fetch = [&](const VectorOperand& x, int bytes, uint32_t i, uint32_t& bits) {
    bits = x.bits;
    if (!x.memory || bytes == 0) return true;
    result.address = uint32_t(x.base + int64_t(i) * x.stride_bytes) & 0xFFFF;
    result.fault = check_access(result.address, bytes, memory);
    if (result.fault == ExecFault::none) bits = load_bits(memory.at(result.address), bytes);
    return result.fault == ExecFault::none;
  };
  uint32_t running = v.a.bits;
  for (uint32_t i = 0; i < v.count; ++i, ++result.executed) {
    uint32_t a = 0, b = 0, old = 0;
    if (!fetch(v.a, op.a_bytes, i, a) || !fetch(v.b, op.b_bytes, i, b)) return result;
    if (!fetch(v.dst, op.dst_bytes, i, old)) return result;
    if (v.reduction) a = running;
    if (op.uses_carry) b |= uint32_t(carry) << 16;
    uint32_t value = op.fn(a, b, v.s, old);
    if (op.sets_carry) carry = (value >> 16 & 1) != 0;
    if (op.dst_bytes == 2) value &= 0xFFFF;
    running = value;
    if (v.dst.memory) store_bits(memory.at(result.address), op.dst_bytes, value);
  }
  if (v.count > 0 && !v.dst.memory) v.dst.bits = running;
  result.address = 0;
  return result;
}

// ---- chunks

template <typename T>
void gather(const VectorOperand& v, uint32_t first, uint32_t count, const uint8_t* memory, T* out) {
  if (!v.memory) return;  // filled once, before the loop
  const uint8_t* p = memory + (int64_t(v.base) + int64_t(first) * v.stride_bytes);
  if (v.stride_bytes == int(sizeof(T))) {
    std::memcpy(out, p, count * sizeof(T));
    return;
  }
  for (uint32_t i = 0; i < count; ++i, p += v.stride_bytes) std::memcpy(out + i, p, sizeof(T));
}

template <typename T>
void scatter(const VectorOperand& v, uint32_t first, uint32_t count, uint8_t* memory, const T* in) {
  uint8_t* p = memory + (int64_t(v.base) + int64_t(first) * v.stride_bytes);
  if (v.stride_bytes == int(sizeof(T))) {
    std::memcpy(p, in, count * sizeof(T));
    return;
  }
  for (uint32_t i = 0; i < count; ++i, p += v.stride_bytes) std::memcpy(p, in + i, sizeof(T));
}

template <typename T>
T scalar(uint32_t bits) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(bits);
  return T(bits);
}

template <typename T>
uint32_t bits_of(T value) {
  if constexpr (sizeof(T) == 4) return std::bit_cast<uint32_t>(value);
  return uint32_t(value);
}

// `compute(a, b, out, count)` does one chunk. D, A, B are the element types of destination and sources.
template <typename D, typename A, typename B, typename Compute>
void in_chunks(MemoryVector& v, uint8_t* memory, const Compute& compute) {
  // Counts are rounded up to whole SIMD registers; what is computed beyond `count` is dropped.
  constexpr uint32_t kRound = 16;
  const uint32_t used = std::min(kChunk, (v.count + kRound - 1) / kRound * kRound);
  A a[kChunk];
  B b[kChunk];
  D out[kChunk];
  std::fill_n(a, used, v.a.memory ? A{} : scalar<A>(v.a.bits));
  std::fill_n(b, used, v.b.memory ? B{} : scalar<B>(v.b.bits));
  uint32_t count = 0;
  for (uint32_t i = 0; i < v.count; i += count) {
    count = std::min(kChunk, v.count - i);
    gather(v.a, i, count, memory, a);
    gather(v.b, i, count, memory, b);
    compute(a, b, out, (count + kRound - 1) / kRound * kRound);
    if (v.dst.memory) scatter(v.dst, i, count, memory, out);
  }
  if (!v.dst.memory) v.dst.bits = bits_of(out[count - 1]);
}

// The running value in a register: a = f(a, b[i]).
template <typename T, typename B, typename F>
void accumulate(MemoryVector& v, const uint8_t* memory, const F& f) {
  T running = scalar<T>(v.a.bits);
  const uint8_t* p = memory + v.b.base;
  for (uint32_t i = 0; i < v.count; ++i, p += v.b.stride_bytes) {
    B b;
    std::memcpy(&b, p, sizeof(B));
    running = f(running, b);
  }
  v.dst.bits = bits_of(running);
}

template <typename T, typename F>
void binary(MemoryVector& v, uint8_t* memory, const F& f) {
  if (v.reduction && v.b.memory) return accumulate<T, T>(v, memory, f);
  in_chunks<T, T, T>(v, memory, [&](const T* a, const T* b, T* out, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  });
}

template <typename T, typename F>
void unary(MemoryVector& v, uint8_t* memory, const F& f) {
  in_chunks<T, T, T>(v, memory, [&](const T* a, const T*, T* out, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) out[i] = f(a[i]);
  });
}

// All operands in memory, their elements one behind the other: nothing has to be copied.
bool in_place(MemoryVector& v, uint8_t* memory, lanes::Single op) {
  if (!lanes::has_wide() || !v.dst.memory || !v.a.memory || !v.b.memory) return false;
  if (v.dst.stride_bytes != 4 || v.a.stride_bytes != 4 || v.b.stride_bytes != 4) return false;
  lanes::single(op, memory + v.a.base, memory + v.b.base, n::from_bits(v.s), memory + v.dst.base, v.count);
  return true;
}

void fmacs(MemoryVector& v, uint8_t* memory) {
  const float s = n::from_bits(v.s);
  if (v.reduction && v.b.memory) {
    v.dst.bits = n::to_bits(
        lanes::fma_run(n::from_bits(v.a.bits), memory + v.b.base, v.b.stride_bytes, s, v.count));
    return;
  }
  if (in_place(v, memory, lanes::Single::fma)) return;
  in_chunks<float, float, float>(v, memory, [&](const float* a, const float* b, float* out, uint32_t count) {
    lanes::fma_chunk(a, b, s, out, count);
  });
}

// ---- dispatch

// f16 in SIMD registers, where the processor has them.
bool lanes_half(Op op, MemoryVector& v, uint8_t* memory) {
  if (!lanes::has_half() || v.reduction) return false;
  using T = uint16_t;
  switch (op) {
    case Op::faddh:
      in_chunks<T, T, T>(v, memory, lanes::add_half);
      return true;
    case Op::fsubh:
      in_chunks<T, T, T>(v, memory, lanes::sub_half);
      return true;
    case Op::fmulh:
      in_chunks<T, T, T>(v, memory, lanes::mul_half);
      return true;
    case Op::fmach:
      in_chunks<T, T, T>(v, memory, [&](const T* a, const T* b, T* out, uint32_t count) {
        lanes::fma_half(a, b, T(v.s), out, count);
      });
      return true;
    case Op::fh2s:
      in_chunks<uint32_t, T, T>(v, memory, [](const T* a, const T*, uint32_t* out, uint32_t count) {
        lanes::half_to_single(a, out, count);
      });
      return true;
    case Op::fs2h:
      in_chunks<T, uint32_t, T>(v, memory, [](const uint32_t* a, const T*, T* out, uint32_t count) {
        lanes::single_to_half(a, out, count);
      });
      return true;
    case Op::faddhs:
      in_chunks<float, T, float>(v, memory, lanes::add_mixed);
      return true;
    case Op::fmachs:
      in_chunks<float, float, T>(v, memory, [&](const float* a, const T* b, float* out, uint32_t count) {
        lanes::fma_mixed(a, b, T(v.s), out, count);
      });
      return true;
    default:
      return false;
  }
}

template <Fp16Format F>
bool fast_half(Op op, MemoryVector& v, uint8_t* memory) {
  using H = n::Half<F>;
  using T = uint16_t;
  if (F == Fp16Format::f16 && lanes_half(op, v, memory)) return true;
  switch (op) {
    case Op::faddh:
      binary<T>(v, memory, [](T a, T b) { return H::add(a, b); });
      return true;
    case Op::fsubh:
      binary<T>(v, memory, [](T a, T b) { return H::sub(a, b); });
      return true;
    case Op::fmulh:
      binary<T>(v, memory, [](T a, T b) { return H::mul(a, b); });
      return true;
    case Op::fmaxh:
      if (!lanes::has_half() || v.reduction)
        binary<T>(v, memory, H::max);
      else
        in_chunks<T, T, T>(v, memory, [](const T* a, const T* b, T* out, uint32_t count) {
          lanes::max_half(a, b, H::kInf, H::kNan, out, count);
        });
      return true;
    case Op::fmach: {
      const T s = T(v.s);
      binary<T>(v, memory, [s](T a, T b) { return H::fma(a, b, s); });
      return true;
    }
    default:
      return false;
  }
}

// Written without branches, for SIMD.
float max_select(float a, float b) {
  const float equal = n::from_bits(n::to_bits(a) & n::to_bits(b));
  const float larger = a > b ? a : b;
  const float ordered = a == b ? equal : larger;
  return a != a || b != b ? n::from_bits(n::kNanBits) : ordered;
}

// Element `i` of an operand.
uint32_t element(const VectorOperand& x, int bytes, uint32_t i, const uint8_t* memory) {
  return x.memory ? load_bits(memory + (int64_t(x.base) + int64_t(i) * x.stride_bytes), bytes) : x.bits;
}

// Carries are those of the last element, whose sources nothing before it writes.
bool fast_integer(Op op, MemoryVector& v, uint8_t* memory, bool& carry) {
  using T = uint16_t;
  switch (op) {
    case Op::add16:
      if (v.reduction) return false;
      carry = ((element(v.a, 2, v.count - 1, memory) + element(v.b, 2, v.count - 1, memory)) >> 16 & 1) != 0;
      binary<T>(v, memory, [](T a, T b) { return T(a + b); });
      return true;
    case Op::sub16:
      binary<T>(v, memory, [](T a, T b) { return T(a - b); });
      return true;
    case Op::and16:
      binary<T>(v, memory, [](T a, T b) { return T(a & b); });
      return true;
    case Op::or16:
      binary<T>(v, memory, [](T a, T b) { return T(a | b); });
      return true;
    case Op::xor16:
      binary<T>(v, memory, [](T a, T b) { return T(a ^ b); });
      return true;
    default:
      return false;
  }
}

bool fast(Op op, MemoryVector& v, uint8_t* memory, Fp16Format format) {
  switch (op) {
    case Op::mov16:
    case Op::fmovh:
      unary<uint16_t>(v, memory, [](uint16_t a) { return a; });
      return true;
    case Op::mov32:
    case Op::fmovs:
      unary<uint32_t>(v, memory, [](uint32_t a) { return a; });
      return true;
    case Op::fabss:
      unary<uint32_t>(v, memory, n::abs_bits);
      return true;
    case Op::fnegs:
      unary<uint32_t>(v, memory, n::neg_bits);
      return true;
    case Op::fadds:
      if (in_place(v, memory, lanes::Single::add)) return true;
      binary<float>(v, memory, [](float a, float b) { return n::add(a, b); });
      return true;
    case Op::fsubs:
      if (in_place(v, memory, lanes::Single::sub)) return true;
      binary<float>(v, memory, [](float a, float b) { return n::sub(a, b); });
      return true;
    case Op::fmuls:
      if (in_place(v, memory, lanes::Single::mul)) return true;
      binary<float>(v, memory, [](float a, float b) { return n::mul(a, b); });
      return true;
    case Op::fmaxs:
      if (lanes::has_half() && !v.reduction)
        in_chunks<float, float, float>(v, memory, lanes::max_single);
      else
        binary<float>(v, memory, max_select);
      return true;
    case Op::fmacs:
      fmacs(v, memory);
      return true;
    default:
      break;
  }
  switch (format) {
    case Fp16Format::bf16:
      return fast_half<Fp16Format::bf16>(op, v, memory);
    case Fp16Format::cb16:
      return fast_half<Fp16Format::cb16>(op, v, memory);
    default:
      return fast_half<Fp16Format::f16>(op, v, memory);
  }
}

}  // namespace

VectorResult execute_memory_vector(Op code, MemoryVector& v, MemoryView memory, Fp16Format format, bool& carry) {
  const ElementOp& op = element_op(code, format);
  if (op.fn == nullptr || !op.vector) return {ExecFault::illegal, 0, 0};
  if (v.count == 0) return {};
  const bool whole = inside(v.a, v.count, op.a_bytes, memory) &&
                     inside(v.b, v.count, op.b_bytes, memory) &&
                     inside(v.dst, v.count, op.dst_bytes, memory);
  const bool chunks = may_gather(v.a, op.a_bytes, v.dst, op.dst_bytes, v.count) &&
                      may_gather(v.b, op.b_bytes, v.dst, op.dst_bytes, v.count);
  const bool plain = !v.reduction || (!v.dst.memory && v.b.memory);
  constexpr uint32_t kWorthwhile = 8;  // below that, setting up a chunk costs more than it saves
  // Where address 0 would be: operands that lie in memory are found from there.
  uint8_t* const origin = reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(memory.bytes) - memory.low);
  if (whole && chunks && plain && v.count >= kWorthwhile &&
      (fast_integer(code, v, origin, carry) || fast(code, v, origin, format)))
    return {ExecFault::none, 0, v.count};
  return one_by_one(op, v, memory, carry);
}

}  // namespace cs::sim

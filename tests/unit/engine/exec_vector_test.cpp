// Whole vectors: hand-worked small ones, and every fast path against the plain loop of its definition,
// element by element, for lengths, strides and overlaps that take every branch.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "simulator/exec/exec.h"
#include "simulator/exec/lanes.h"

namespace cs::sim {
namespace {

using isa::Op;
using Memory = std::vector<uint8_t>;

constexpr Op kOps[] = {Op::mov16, Op::mov32, Op::fmovh,   Op::fmovs,   Op::add16,   Op::addc16,
                       Op::sub16, Op::and16, Op::or16,    Op::xor16,   Op::sll16,   Op::slr16,
                       Op::sar16, Op::clz16, Op::fadds,   Op::fsubs,   Op::fmuls,   Op::fmacs,
                       Op::fmaxs, Op::fabss, Op::fnegs,   Op::fnorms,  Op::fscales, Op::faddh,
                       Op::fsubh, Op::fmulh, Op::fmach,   Op::fmaxh,   Op::faddhs,  Op::fmachs,
                       Op::fh2s,  Op::fs2h,  Op::xp162fh, Op::xp162fs, Op::fh2xp16, Op::fs2xp16};

// The definition: for each element read a, read b, compute, write.
void reference(Op code, MemoryVector& v, Memory& memory, Fp16Format format, bool& carry) {
  const ElementOp& op = element_op(code, format);
  const auto get = [&](const VectorOperand& x, int bytes, uint32_t i) {
    uint32_t value = 0;
    if (!x.memory) return x.bits;
    std::memcpy(&value, memory.data() + x.base + int64_t(i) * x.stride_bytes, size_t(bytes));
    return value;
  };
  for (uint32_t i = 0; i < v.count; ++i) {
    const uint32_t a = v.reduction && i > 0 ? v.dst.bits : get(v.a, op.a_bytes, i);
    const uint32_t b = get(v.b, op.b_bytes, i);
    uint32_t value = op.fn(a, op.uses_carry ? b | uint32_t(carry) << 16 : b, v.s, 0);
    if (op.sets_carry) carry = value >> 16 & 1;
    if (op.dst_bytes == 2) value &= 0xFFFF;
    if (v.dst.memory)
      std::memcpy(memory.data() + v.dst.base + int64_t(i) * v.dst.stride_bytes, &value, op.dst_bytes);
    else
      v.dst.bits = value;
  }
}

// Words that make interesting floats: ordinary ones, and a NaN, an infinity, a subnormal, a zero now and
// then.
Memory random_memory(uint32_t seed) {
  Memory memory(8192);
  uint32_t state = seed * 2654435761u + 12345;
  for (size_t i = 0; i < memory.size(); i += 4) {
    state = state * 1664525u + 1013904223u;
    float x = std::ldexp(float(int32_t(state)), int(state >> 8 & 31) - 45);
    const float kSpecial[] = {NAN, -NAN, INFINITY, -INFINITY, 1e-42f, 0.0f, -0.0f, 65520.0f};
    if ((state >> 13) % 23 == 0) x = kSpecial[state >> 20 & 7];
    std::memcpy(memory.data() + i, &x, 4);
    if (i % 64 < 32) std::memcpy(memory.data() + i, &state, 4);  // and any bits at all
  }
  return memory;
}

void expect_same(Op op, MemoryVector v, uint32_t seed, Fp16Format format) {
  Memory got = random_memory(seed), want = got;
  MemoryVector w = v;
  bool carry_got = seed & 1, carry_want = carry_got;
  reference(op, w, want, format, carry_want);
  const VectorResult result = execute_memory_vector(op, v, got, format, carry_got);
  const auto what = std::string(isa::row(op).mnemonic) + " n=" + std::to_string(v.count) + " dst " +
                    std::to_string(v.dst.base) + "/" + std::to_string(v.dst.stride_bytes) + " a " +
                    std::to_string(v.a.base) + "/" + std::to_string(v.a.stride_bytes) + " b " +
                    std::to_string(v.b.base) + "/" + std::to_string(v.b.stride_bytes);
  ASSERT_EQ(result.fault, ExecFault::none) << what;
  ASSERT_EQ(result.executed, v.count) << what;
  ASSERT_EQ(got, want) << what;
  ASSERT_EQ(v.dst.bits, w.dst.bits) << what;
  ASSERT_EQ(carry_got, carry_want) << what;
}

// The code of every level of processors.
class ExecVectorLevels : public testing::TestWithParam<lanes::Level> {
 protected:
  ExecVectorLevels() { lanes::allow(GetParam()); }
  ~ExecVectorLevels() override { lanes::allow(lanes::Level::avx512); }
};
INSTANTIATE_TEST_SUITE_P(all, ExecVectorLevels,
                         testing::Values(lanes::Level::plain, lanes::Level::avx2, lanes::Level::avx512));

TEST_P(ExecVectorLevels, fast_paths_equal_the_definition) {
  uint32_t seed = 1;
  for (Op op : kOps)
    for (Fp16Format format : {Fp16Format::f16, Fp16Format::bf16, Fp16Format::cb16}) {
      const ElementOp& e = element_op(op, format);
      for (uint32_t count : {1u, 7u, 8u, 16u, 17u, 128u, 129u, 300u}) {
        MemoryVector v;
        v.dst = {true, 0, e.dst_bytes, 0};
        v.a = {true, 2048, e.a_bytes, 0};
        v.b = {true, 4096, e.b_bytes, 0};
        v.s = 0x3FC03E00;
        v.count = count;
        expect_same(op, v, ++seed, format);
        v.b = {false, 0, 0, e.b_bytes == 2 ? 0x4080u : 0x40100000u};
        expect_same(op, v, ++seed, format);
        v.a = {true, 5000, -2 * e.a_bytes, 0};
        v.dst.stride_bytes = 2 * e.dst_bytes;
        expect_same(op, v, ++seed, format);
      }
    }
}

// Every f16 as one operand of SIMD code, against the integer arithmetic; the others are special values and any bits.
TEST(ExecVector, all_halves_have_the_bits_of_one_rounding) {
  constexpr uint16_t kOthers[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3555, 0x3BFF, 0x3C00, 0xBC01,
                                  0x4248, 0x1234, 0x9234, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x1001};
  constexpr uint32_t kRun = 4096;
  Memory memory(3 * 2 * kRun);
  uint32_t state = 99;
  for (Op op : {Op::faddh, Op::fsubh, Op::fmulh, Op::fmach, Op::fmaxh})
    for (uint32_t first = 0; first < 0x10000; first += kRun)
      for (uint16_t other : kOthers) {
        for (uint32_t i = 0; i < kRun; ++i) {
          state = state * 1664525u + 1013904223u;
          const uint16_t a = op == Op::fmach ? uint16_t(state >> 16) : other, b = uint16_t(first + i);
          std::memcpy(memory.data() + 2 * i, &a, 2);
          std::memcpy(memory.data() + 2 * (kRun + i), &b, 2);
        }
        MemoryVector v;
        v.dst = {true, 4 * kRun, 2, 0};
        v.a = {true, 0, 2, 0};
        v.b = {true, 2 * kRun, 2, 0};
        v.s = other;
        v.count = kRun;
        Memory want = memory;
        MemoryVector w = v;
        bool carry = false;
        reference(op, w, want, Fp16Format::f16, carry);
        ASSERT_EQ(execute_memory_vector(op, v, memory, Fp16Format::f16, carry).fault, ExecFault::none);
        for (uint32_t i = 0; i < 6 * kRun; i += 2)
          ASSERT_EQ(memory[i] | memory[i + 1] << 8, want[i] | want[i + 1] << 8)
              << isa::row(op).mnemonic << " element " << (i - 4 * kRun) / 2 << " of " << first << ", " << other;
      }
}

// Sums and products near the middle between two f16, where rounding twice would show.
TEST(ExecVector, fused_halves_near_ties_round_once) {
  constexpr uint32_t kRun = 4096;
  Memory memory(3 * 2 * kRun);
  uint32_t state = 7;
  const auto next = [&] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (int round = 0; round < 200; ++round) {
    const uint16_t s = uint16_t((next() & 0x83FF) | (next() % 30 + 1) << 10);
    for (uint32_t i = 0; i < kRun; ++i) {
      const uint16_t b = uint16_t((next() & 0x83FF) | (next() % 30 + 1) << 10);
      const float product = std::ldexp(float(0x400 | (b & 0x3FF)), (b >> 10 & 31) - 25) *
                            std::ldexp(float(0x400 | (s & 0x3FF)), (s >> 10 & 31) - 25);
      // a some 10 to 13 binary places above the product: its last place is where the product's first one is.
      const int exponent = std::clamp(int(std::ilogb(product)) + 10 + int(next() % 4) + 15, 0, 30);
      const uint16_t a = uint16_t((next() & 0x83FF & (next() % 2 ? 0xFFFF : 0x8000)) | exponent << 10);
      std::memcpy(memory.data() + 2 * i, &a, 2);
      std::memcpy(memory.data() + 2 * (kRun + i), &b, 2);
    }
    MemoryVector v{{true, 4 * kRun, 2, 0}, {true, 0, 2, 0}, {true, 2 * kRun, 2, 0}, s, kRun, false};
    Memory want = memory;
    MemoryVector w = v;
    bool carry = false;
    reference(Op::fmach, w, want, Fp16Format::f16, carry);
    ASSERT_EQ(execute_memory_vector(Op::fmach, v, memory, Fp16Format::f16, carry).fault, ExecFault::none);
    ASSERT_EQ(memory, want) << round;
  }
}

TEST_P(ExecVectorLevels, overlaps_follow_element_order) {
  uint32_t seed = 1000;
  for (Op op :
       {Op::fadds, Op::fmovs, Op::fmacs, Op::faddh, Op::fmovh, Op::fh2s, Op::fs2h, Op::fmaxs, Op::add16}) {
    const ElementOp& e = element_op(op, Fp16Format::f16);
    for (int shift : {-400, -8, -4, -2, 0, 2, 4, 8, 12, 500, 2000})
      for (int step : {1, -1, 2}) {
        MemoryVector v;
        v.dst = {true, 2400, step * e.dst_bytes, 0};
        v.a = {true, uint16_t(2400 + shift), step * e.a_bytes, 0};
        v.b = {true, 2408, step * e.b_bytes, 0};
        v.s = 0x3F803C00;
        v.count = 200;
        expect_same(op, v, ++seed, Fp16Format::f16);
        v.a.stride_bytes = -v.a.stride_bytes;
        expect_same(op, v, ++seed, Fp16Format::f16);
        v.dst.stride_bytes = 0;  // one cell for all elements
        expect_same(op, v, ++seed, Fp16Format::f16);
      }
  }
}

TEST_P(ExecVectorLevels, reductions_run_in_order) {
  uint32_t seed = 5000;
  for (Op op : {Op::fadds, Op::fsubs, Op::fmuls, Op::fmaxs, Op::fmacs, Op::faddh, Op::fmach, Op::fmaxh,
                Op::add16, Op::fmachs})
    for (uint32_t count : {1u, 5u, 8u, 200u}) {
      const ElementOp& e = element_op(op, Fp16Format::f16);
      MemoryVector v;
      v.a = {false, 0, 0, e.a_bytes == 2 ? 0x3C00u : 0x3F800000u};
      v.b = {true, 2400, e.b_bytes, 0};
      v.s = 0x3F803C00;
      v.count = count;
      v.reduction = true;
      expect_same(op, v, ++seed, Fp16Format::f16);
      v.b.stride_bytes = -3 * e.b_bytes;
      expect_same(op, v, ++seed, Fp16Format::f16);
    }
}

TEST(ExecVector, the_order_of_a_sum_shows) {
  // 2^24 + 1 + 1 … in order stays 2^24 (each 1 is half an ulp, ties to even); any tree would not.
  Memory memory(256);
  for (int i = 0; i < 20; ++i) {
    const float one = 1;
    std::memcpy(memory.data() + 4 * i, &one, 4);
  }
  MemoryVector v;
  v.a.bits = std::bit_cast<uint32_t>(16777216.0f);
  v.b = {true, 0, 4, 0};
  v.count = 20;
  v.reduction = true;
  bool carry = false;
  execute_memory_vector(Op::fadds, v, memory, Fp16Format::f16, carry);
  EXPECT_EQ(std::bit_cast<float>(v.dst.bits), 16777216.0f);
}

TEST(ExecVector, a_move_onto_the_next_element_fills) {
  Memory memory(256);
  memory[0] = 42;
  MemoryVector v;
  v.dst = {true, 2, 2, 0};
  v.a = {true, 0, 2, 0};
  v.count = 100;
  bool carry = false;
  execute_memory_vector(Op::mov16, v, memory, Fp16Format::f16, carry);
  for (int i = 0; i <= 100; ++i) EXPECT_EQ(memory[size_t(2 * i)], 42) << i;
  EXPECT_EQ(memory[202], 0);
}

TEST(ExecVector, carry_runs_from_word_to_word) {
  // 0xFFFF'FFFF'FFFF + 1 over three words, low first.
  Memory memory{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0, 0};
  MemoryVector v;
  v.dst = v.a = {true, 0, 2, 0};
  v.b = {true, 6, 2, 0};
  v.count = 3;
  bool carry = false;
  execute_memory_vector(Op::addc16, v, memory, Fp16Format::f16, carry);
  EXPECT_EQ(memory, (Memory{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(carry);
}

TEST(ExecVector, faults_stop_at_the_element) {
  Memory memory(100);
  bool carry = false;
  MemoryVector v;
  v.dst = {true, 0, 4, 0};
  v.a = {true, 40, 4, 0};
  v.count = 20;  // a reaches 40 + 4 · 15 = 100
  memory[40] = 9;
  const VectorResult result = execute_memory_vector(Op::fmovs, v, memory, Fp16Format::f16, carry);
  EXPECT_EQ(result.fault, ExecFault::out_of_bounds);
  EXPECT_EQ(result.address, 100u);
  EXPECT_EQ(result.executed, 15u);
  EXPECT_EQ(memory[0], 9) << "the elements before it were done";
  v.a.base = 41;
  EXPECT_EQ(execute_memory_vector(Op::fmovs, v, memory, Fp16Format::f16, carry).fault, ExecFault::misaligned);
  EXPECT_EQ(execute_memory_vector(Op::imul16, v, memory, Fp16Format::f16, carry).fault, ExecFault::illegal);
  v.count = 0;
  EXPECT_EQ(execute_memory_vector(Op::fmovs, v, memory, Fp16Format::f16, carry).fault, ExecFault::none);
}

}  // namespace
}  // namespace cs::sim

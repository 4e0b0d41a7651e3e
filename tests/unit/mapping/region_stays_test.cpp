// Regions cut in time of which an operand stays on the PEs for several rounds, and constants fall into parts: the
// rounds together are what the whole region computes.
#include <gtest/gtest.h>

#include "compiler/autogen/region.h"
#include "compiler/kernels/skew.h"
#include "runtime/ops/loops.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using autogen::Region;
using ops::LoopBuilder;

ops::TensorType f32(ops::Shape shape) { return {DataType::f32, std::move(shape)}; }

// y[h, i, j] = Σk a[h, i, k] b[h, k, j], and c[i, j] added where `masked`.
struct Product {
  int64_t heads, rows, inner, columns;
  bool masked = false;

  ops::TensorType a() const { return f32({heads, rows, inner}); }
  ops::TensorType b() const { return f32({heads, inner, columns}); }
  ops::TensorType c() const { return f32({rows, columns}); }
  ops::TensorType y() const { return f32({heads, rows, columns}); }

  Region region() const {
    const ops::TensorType x[] = {a(), b(), c()}, result = y();
    const ops::TensorType* in[] = {&x[0], &x[1], &x[2]};
    Region r;
    LoopBuilder builder(r.program, std::span(in, masked ? 3 : 2), std::span(&result, 1));
    const int made = int(builder.result().buffer);
    ops::LoopAccess out, from_a, from_b, from_c;
    out.buffer = made;
    from_a.buffer = 0, from_b.buffer = 1, from_c.buffer = 2;
    if (masked) {
      out.strides = {rows * columns, columns, 1};
      from_c.strides = {0, columns, 1};
      builder.statement({heads, rows, columns}, out, {from_c}, "x0");
    } else {
      builder.fill(builder.result(), 0);
    }
    out.strides = {rows * columns, columns, 1, 0};
    from_a.strides = {rows * inner, inner, 0, 1};
    from_b.strides = {inner * columns, 0, 1, columns};
    builder.statement({heads, rows, columns, inner}, out, {from_a, from_b}, "x0 * x1", ops::Combine::add);
    for (ops::LoopBlock& block : r.program.blocks)
      for (ops::LoopStatement& s : block.statements) autogen::merge_axes(s);
    r.operands.resize(2);
    r.operand_buffer = {0, 1};
    if (masked) r.constants.resize(1), r.constant_buffer = {2};
    r.results.resize(1);
    r.result_buffer = {made};
    return r;
  }
};

ops::Tensor numbers_of(const ops::TensorType& type, uint32_t seed) {
  return ops::Tensor::from_floats(type.shape, numbers(size_t(type.elements()), seed));
}

ops::Tensor part_of(const ops::Tensor& whole, const ops::TensorType& type, int64_t k) {
  ops::Tensor part(type);
  for (int64_t i = 0; i < part.elements(); ++i) part.set(i, whole.get(k * part.elements() + i));
  return part;
}

// Rounds of the sliced region, each with the part of every operand and constant that it has then.
void expect_whole(const Product& p, const Region& slice, int64_t rounds) {
  const Region whole = p.region();
  std::vector<ops::Tensor> in{numbers_of(p.a(), 1), numbers_of(p.b(), 2)};
  if (p.masked) in.push_back(numbers_of(p.c(), 3));
  std::vector<const ops::Tensor*> operands;
  for (const ops::Tensor& t : in) operands.push_back(&t);
  std::vector<ops::Tensor> expected(1, ops::Tensor(p.y()));
  std::string error;
  ASSERT_TRUE(ops::evaluate_loops(whole.program, operands, expected, error)) << error;
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<ops::Tensor> parts;
    for (size_t i = 0; i < in.size(); ++i) {
      const ops::TensorType& type = slice.program.buffers[i].type;
      const int64_t k = i < 2 ? round / slice.stays_for(i) : round % slice.parts_of(2);
      parts.push_back(part_of(in[i], type, k));
    }
    std::vector<const ops::Tensor*> list;
    for (const ops::Tensor& t : parts) list.push_back(&t);
    const ops::TensorType& made = slice.program.buffers[size_t(slice.result_buffer[0])].type;
    std::vector<ops::Tensor> got(1, ops::Tensor(made));
    ASSERT_TRUE(ops::evaluate_loops(slice.program, list, got, error)) << error;
    for (int64_t i = 0; i < made.elements(); ++i)
      ASSERT_EQ(got[0].get(i), expected[0].get(round * made.elements() + i)) << round;
  }
}

// 512 x 512 by 512 x 32: 294,912 words, which 25 PEs hold. Rows come 8 at a time, 4,096 words of them and 256 of the
// result; the second operand stays for all 64 rounds.
TEST(RegionStays, TheSecondOperandOfALargeProduct) {
  const Product p{1, 512, 512, 32};
  Region r = p.region();
  ASSERT_EQ(autogen::slice_region(r), 64);
  EXPECT_EQ(r.stays, (std::vector<int64_t>{1, 64}));
  EXPECT_EQ(r.elements(0), 8 * 512);
  EXPECT_EQ(r.elements(1), 512 * 32);
  EXPECT_TRUE(r.constant_parts.empty());
  EXPECT_EQ(r.words_in(), 8 * 512 + 512 * 32 / 64);
  expect_whole(p, r, 64);
}

// Three heads: each has a second operand of its own, which stays for the rounds of its rows. The mask's rows are the
// same for all heads.
TEST(RegionStays, OfHeadsWithAMaskForAHeadsRounds) {
  const Product p{3, 256, 64, 256, true};
  Region r = p.region();
  const int64_t rounds = autogen::slice_region(r);
  ASSERT_GT(rounds, 3);
  ASSERT_EQ(rounds % 3, 0);
  EXPECT_EQ(r.stays, (std::vector<int64_t>{1, rounds / 3}));
  EXPECT_EQ(r.parts_of(2), rounds / 3);
  EXPECT_EQ(r.elements(2), p.c().elements() / (rounds / 3));
  expect_whole(p, r, rounds);
}

// 256 x 256 by 256 x 256 is 196,608 words, which 16 PEs hold: it stays whole.
TEST(RegionStays, NotOfWhatFewPesHold) {
  Region r = Product{1, 256, 256, 256}.region();
  EXPECT_EQ(autogen::slice_region(r), 1);
  EXPECT_TRUE(r.stays.empty());
}

// Of ten parts one serves for all of the second operand, which is taken before the first result, and kept.
TEST(RegionStays, AnOperandThatStaysIsTakenFirst) {
  kernels::Skew s;
  s.words = {1000, 300};
  s.interval = 2000;
  kernels::take_in_parts(s, 10, 1, 2500, {1, 10});
  EXPECT_EQ(s.first, (std::vector<int64_t>{100, 300}));
  EXPECT_EQ(s.holds, (std::vector<int64_t>{100, 300}));
  EXPECT_FALSE(s.comes_first(0));
  EXPECT_TRUE(s.comes_first(1));
}

}  // namespace
}  // namespace cs::test

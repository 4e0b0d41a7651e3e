// Kernels with resident operands: cuts, estimates and bounds by hand, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/autogen/least_cycles.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using kernels::LineReduce;
using ::testing::HasSubstr;

kernels::Work resident(const kernels::Kind* kind) {
  kernels::Work work;
  work.kind = kind;
  work.resident = true;
  work.flops_per_element = 0;
  return work;
}

kernels::Work sums(int64_t rows, int64_t n) {
  kernels::Work work = resident(kernels::reduction_kind());
  work.rows = rows;
  work.n = n;
  return work;
}

TEST(Resident, ReductionsKeepRowsWholeWhereThereAreEnough) {
  const Machine m = test::machine("wse2");
  const auto whole = kernels::cut_resident(sums(64, 1024), 4, 4, m);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->line, 1);
  EXPECT_EQ(whole->m_slice, 4);
  EXPECT_EQ(whole->n_slice, 1024);
  // Four rows on 16 PEs: a quarter of a row each, and 1 word meets along 4 PEs.
  const auto pieces = kernels::cut_resident(sums(4, 1024), 4, 4, m);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->line, 4);
  EXPECT_EQ(pieces->m_slice, 1);
  EXPECT_EQ(pieces->n_slice, 256);
  // 1023 elements do not fall into four equal pieces.
  EXPECT_EQ(kernels::cut_resident(sums(4, 1023), 4, 4, m)->line, 1);
}

TEST(Resident, TheQuickestWayOfAReduceIsThatOfTheModel) {
  const Machine m = test::machine("wse2");
  // A core on the way costs 2 + 2 + 1, a hop 1. One word over 32 PEs: tree 5 + 32 + 25 = 62; chain 1 + 6 * 31
  // = 187.
  const kernels::LineCost few = kernels::line_reduce_cost(1, 32, m);
  EXPECT_EQ(few.how, LineReduce::tree);
  EXPECT_DOUBLE_EQ(few.cycles, 62 + 20);
  // 2000 words: chain 2000 + 186.
  const kernels::LineCost many = kernels::line_reduce_cost(2000, 32, m);
  EXPECT_EQ(many.how, LineReduce::chain);
  EXPECT_DOUBLE_EQ(many.cycles, 2186 + 20);
  // 64 words: groups of four, 128 + 6 * 3 + (5 + 4) * 7 = 209; of eight, 128 + 42 + 13 * 3 = 209; chain 250;
  // tree 377.
  EXPECT_EQ(kernels::line_reduce_cost(64, 32, m).how, LineReduce::two_phase);
  EXPECT_DOUBLE_EQ(kernels::line_reduce_cost(64, 32, m).cycles, 209 + 20);
}

// 56 x 56 by 56 x 56 on 4 x 4 PEs: tiles of 14. Four steps of 14 (14 * (14 + 2) + 26) = 3500, of which the
// datapath works 2744, so that 14 * 28 words take 1.5 * 0.784^2 cycles each from it; 130 + 12 * 4 around
// them; the first tiles 196 + 8 + 30, the result cleared at two words per cycle, 20 for the call.
TEST(Resident, ProductsAreCutIntoTilesOfASquare) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_product_kind());
  work.rows = work.n = work.m = 56;
  const auto plan = kernels::plan_resident(work, 4, 4, m);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cut.n_slice, 14);
  EXPECT_EQ(plan->cut.m_slice, 14);
  EXPECT_NEAR(plan->latency_cycles, 4 * (3500 + 1.5 * 0.784 * 0.784 * 392 + 178) + 234 + 98 + 20, 1e-9);
  EXPECT_FALSE(kernels::plan_resident(work, 4, 2, m));
  // Columns of W are even in number.
  work.m = 9;
  EXPECT_EQ(kernels::cut_resident(work, 3, 3, m)->m_slice, 4);
  // A multiply-add per cycle and PE.
  EXPECT_DOUBLE_EQ(kernels::ideal_bound(work, 4, 4, 4, m).compute, 56.0 * 56 * 9 / 16);
}

// The same by shifts: products of 14 (14 * (14 + 2) + 26), three of them with 230 and the last one with 60;
// one tile of X less.
TEST(Resident, ProductsByShiftsTakeTheSameTiles) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_shift_kind());
  work.rows = work.n = work.m = 56;
  const auto shifts = kernels::plan_resident(work, 4, 4, m);
  ASSERT_TRUE(shifts);
  EXPECT_NEAR(shifts->latency_cycles, 4 * 14 * (14 * 16 + 26) + 3 * 230 + 60 + 98 + 20, 1e-9);
  EXPECT_FALSE(kernels::plan_resident(work, 1, 1, m));
  EXPECT_FALSE(kernels::plan_resident(work, 4, 2, m));
  work.kind = kernels::resident_product_kind();
  const auto summa = kernels::plan_resident(work, 4, 4, m);
  EXPECT_EQ(summa->cut, shifts->cut);
  EXPECT_EQ(summa->memory.total - shifts->memory.total, 14 * 14 * 4u);
  // Tiles of one row, where moving and multiplying fill the datapath: three steps of 64 * (64 + 2 * 65) +
  // 100.
  work.kind = kernels::resident_shift_kind();
  work.rows = 4;
  work.n = work.m = 256;
  EXPECT_NEAR(kernels::plan_resident(work, 4, 4, m)->latency_cycles,
              3 * (64 * (64 + 2 * 65) + 100) + 64 * (66 + 26) + 60 + 32 + 20, 1e-9);
}

// 60 outputs of 32 elements on 4 x 5 PEs, with one output after the other in memory: tiles of 12 x 8, sums of
// 12 words along 4 PEs, 12 + 6 * 3 + 20. Column after column the rectangle is turned, and 12 stays even.
TEST(Resident, AMatrixTimesAVectorTakesAnyRectangle) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_gemv_kind());
  work.rows = 60;
  work.n = 32;
  const auto rows = kernels::plan_resident(work, 4, 5, m);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->cut.m_slice, 12);
  EXPECT_EQ(rows->cut.n_slice, 8);
  EXPECT_EQ(rows->cut.line, 4);
  EXPECT_NEAR(rows->latency_cycles, 8 * 13 + 3 + 24 - 6 + 50 + 20, 1e-9);
  // Words of 16 bits that come from the host are converted, of constants none.
  work.half = true;
  EXPECT_NEAR(kernels::plan_resident(work, 4, 5, m)->latency_cycles, rows->latency_cycles + 96 + 8 + 12 + 15,
              1e-9);
  work.weights = true;
  EXPECT_NEAR(kernels::plan_resident(work, 4, 5, m)->latency_cycles, rows->latency_cycles + 8 + 12 + 15,
              1e-9);
  work.half = work.weights = false;
  work.rows = 1;
  work.m = 60;
  const auto columns = kernels::plan_resident(work, 5, 4, m);
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->cut.m_slice, 12);
  EXPECT_EQ(columns->cut.line, 4);
  EXPECT_NEAR(columns->latency_cycles, 8 * 13 + 3 + 12 - 16 + 50 + 20, 1e-9);
  work.m = 51;
  EXPECT_EQ(kernels::cut_resident(work, 5, 4, m)->m_slice, 12);
  EXPECT_DOUBLE_EQ(kernels::ideal_bound(work, 4, 4, 4, m).compute, 51.0 * 32 / 16);
}

// Of 16-bit floats, 3 x 14 x 14 words per PE are converted, one a cycle.
TEST(Resident, SixteenBitsAreConvertedOnce) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_product_kind());
  work.rows = work.n = work.m = 56;
  const double words = kernels::plan_resident(work, 4, 4, m)->latency_cycles;
  work.half = true;
  EXPECT_DOUBLE_EQ(kernels::plan_resident(work, 4, 4, m)->latency_cycles, words + 3 * 14 * 14);
  work = {};
  work.resident = work.half = true;
  work.n = work.m = 400;
  work.operands = 2;
  const auto chain = kernels::plan_resident(work, 2, 2, m);
  work.half = false;
  EXPECT_DOUBLE_EQ(chain->latency_cycles, kernels::plan_resident(work, 2, 2, m)->latency_cycles + 3 * 100);
}

// 8 x 8 tiles of 16 x 16: the closed form of transpose.csl, 8 (256 + 5) + 2 * 7 + 45.
TEST(Resident, OneMatrixIsTransposedOnASquare) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_transpose_kind());
  work.rows = work.row = work.n = work.m = 128;
  const auto plan = kernels::plan_resident(work, 8, 8, m);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cut.n_slice * plan->cut.m_slice, 256);
  EXPECT_DOUBLE_EQ(plan->latency_cycles, 8 * 261 + 14 + 45 + 20);
  EXPECT_FALSE(kernels::cut_resident(work, 8, 4, m));
  // Ten matrices of 12 x 5 on 2 x 2 PEs: three whole ones on each.
  work.rows = 120;
  work.row = 12;
  work.n = work.m = 5;
  const auto whole = kernels::cut_resident(work, 2, 2, m);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->line, 1);
  EXPECT_EQ(whole->m_slice, 36);
  EXPECT_EQ(whole->n_slice, 5);
}

// 30 keys of 16 elements on 4 PEs: 8 on each. Four steps of two products, 16 * (8 * 10 + 12 + 48) and 8 * (16 * 10 + 24
// + 48), 12.5 * 64 of the softmax, 577 and 40 for hidden keys; then rows, copies, and 20 for the call.
TEST(Resident, AnAttentionHasEvenTilesOnARowPerHead) {
  const Machine m = test::machine("wse2");
  kernels::Work work = resident(kernels::resident_attention_kind());
  work.row = 16;
  work.n = work.m = 30 * 16;
  const auto plan = kernels::plan_resident(work, 4, 1, m);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cut.n_slice, 8);
  EXPECT_EQ(plan->cut.m_slice, 32);
  EXPECT_NEAR(plan->latency_cycles, 4 * (2240 + 1856 + 800 + 617) + 65 * 8 + 4 * 8 * 16 - 120 + 20, 1e-9);
  EXPECT_EQ(kernels::cut_resident(work, 10, 1, m)->n_slice, 4);
  // Scores of 560 keys for 14 queries and what else there is fill a PE: one block at a time.
  work.row = 64;
  work.n = work.m = 560 * 64;
  EXPECT_EQ(kernels::cut_resident(work, 40, 1, m)->m_slice, 14);
  work.rows = 3;
  EXPECT_FALSE(kernels::cut_resident(work, 40, 2, m));
  EXPECT_TRUE(kernels::cut_resident(work, 40, 3, m));
}

TEST(Resident, TheBoundHasNoStreams) {
  const Machine m = test::machine("wse2");
  // 1024 additions at two per cycle on four PEs; 4 KB read at 16 bytes per cycle.
  const kernels::Bound bound = kernels::ideal_bound(sums(1, 1024), 4, 2, 2, m);
  EXPECT_DOUBLE_EQ(bound.compute, 128);
  EXPECT_DOUBLE_EQ(bound.memory, 64);
  EXPECT_DOUBLE_EQ(bound.cycles(), 128);
}

double least(const std::string& op, const std::string& machine) {
  const ops::OpDef& row = *ops::find_op(op);
  return autogen::least_cycles(ops::bind_attrs(ops::op_expression(row), ops::with_defaults(row, {})),
                               test::machine(machine));
}

TEST(LeastCycles, EveryOperationAtItsOwnRate) {
  // A maximum takes a cycle on WSE-2; WSE-3 does four with a number, and two with a second slice.
  EXPECT_DOUBLE_EQ(least("relu", "wse2"), 1);
  EXPECT_DOUBLE_EQ(least("relu", "wse3"), 0.25);
  EXPECT_DOUBLE_EQ(least("leaky_relu", "wse2"), 1 + 1);  // max(x, a x): the product, the maximum
  EXPECT_DOUBLE_EQ(least("leaky_relu", "wse3"), 1 + 0.5);
  EXPECT_DOUBLE_EQ(least("add", "wse2"), 0.5);
  EXPECT_DOUBLE_EQ(least("add", "wse3"), 0.5);  // two slices of 16 bytes a cycle are four words
  EXPECT_DOUBLE_EQ(least("mul", "wse2"), 1);
}

std::string refusal(const graph::Graph& g, int w = 2, int h = 1, const std::string& policy = "medium") {
  mapping::MapOptions options;
  options.policy = policy;
  options.resident = true;
  options.force_width = w;
  options.force_height = h;
  Diag diag;
  EXPECT_FALSE(mapping::map_graph(g, test::machine("wse2"), options, diag));
  return diag.to_string();
}

TEST(Resident, WhatHasNoSuchFormIsRefusedWithTheReason) {
  test::GemmCase gemm{.rows = 3, .n = 8, .m = 8};
  EXPECT_THAT(
      refusal(test::gemm_graph(gemm)),
      HasSubstr("kernel 'summa' or 'shift_gemm' has no cut for 2 x 1 PEs: a product takes a square\n"));
  graph::Graph turned;
  const graph::ValueId t = turned.add_input("x", {DataType::f32, {4, 6}}, 0);
  turned.set_output(test::add_op(turned, "a", "transpose", {t}, {6, 4}, Origin::autogen));
  turned.node(turned.value(turned.outputs[0]).producer).assignment.kernel = graph::KernelId("dtg-region");
  EXPECT_THAT(refusal(turned), HasSubstr("has no cut for 2 x 1 PEs: one matrix takes a square"));
  graph::Graph sorted;
  const graph::ValueId u = sorted.add_input("x", {DataType::f32, {4, 6}}, 0);
  sorted.set_output(test::add_op(sorted, "a", "cum_sum", {u}, {4, 6}, Origin::autogen));
  sorted.node(sorted.value(sorted.outputs[0]).producer).assignment.kernel = graph::KernelId("dtg-region");
  EXPECT_THAT(refusal(sorted), HasSubstr("the kernel is a region (dtg-region)"));
  graph::Graph two;
  const graph::ValueId x = two.add_input("x", {DataType::f32, {4, 6}}, 0);
  const graph::ValueId a = test::add_op(two, "a", "relu", {x}, {4, 6}, Origin::handwritten);
  two.set_output(test::add_op(two, "b", "transpose", {a}, {6, 4}, Origin::handwritten));
  EXPECT_THAT(refusal(two),
              HasSubstr("relu+transpose to f32[6, 4]: error: kernel 'resident region' has no cut for 2 x 1 PEs"));
  graph::Graph chain;
  const graph::ValueId c = chain.add_input("x", {DataType::f32, {1, 8}}, 0);
  const graph::ValueId d = test::add_op(chain, "a", "relu", {c}, {1, 8}, Origin::handwritten);
  chain.set_output(test::add_op(chain, "b", "relu", {d}, {1, 8}, Origin::handwritten));
  EXPECT_THAT(refusal(chain, 2, 1, "disabled"), HasSubstr("is for graphs of one kernel, this one has: "));
  graph::Graph large;
  const graph::ValueId z = large.add_input("x", {DataType::f32, {1, 40000}}, 0);
  large.set_output(test::add_op(large, "a", "relu", {z}, {1, 40000}, Origin::handwritten));
  EXPECT_THAT(refusal(large), HasSubstr("needs 85576 B per PE on 2 x 1 PEs, a PE has 49152 B"));
}

}  // namespace
}  // namespace cs

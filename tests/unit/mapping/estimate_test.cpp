// Estimated intervals and latencies of kernels against simulated ones, and against hand calculations.
#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

TEST(Size, TheIntervalIsTheEstimatedOne) {
  // 64 inputs, 48 outputs, 12 samples: the measured interval is within a quarter of the estimate.
  for (Origin origin : {Origin::handwritten, Origin::autogen}) {
    test::GemmCase c{1, 64, 48, "", origin, {}, {}};
    graph::Graph g = test::gemm_graph(c);
    Machine machine = test::machine("wse2");
    Diag diag;
    std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, {}, diag);
    ASSERT_TRUE(mapped) << diag.to_string();
    test::RunResult r = test::run(*mapped, machine, {{"x", test::numbers(64 * 12, 3)}}, 12);
    ASSERT_TRUE(r.ok) << r.message;
    double interval = double(r.sample_ends[11] - r.sample_ends[5]) / 6;
    EXPECT_NEAR(interval, mapped->placement[0].interval_cycles, 0.25 * interval);
  }
}

// Cycles from one sample to the next of a generated product with a matrix of n x m on w x 1 PEs: estimated,
// simulated.
std::pair<double, double> product_in_a_row(int n, int m, int w) {
  test::GemmCase c{1, n, m, "", Origin::autogen, {}, {}};
  const graph::Graph g = test::gemm_graph(c);
  const Machine machine = test::machine("wse2");
  mapping::MapOptions options;
  options.force_width = w;
  options.force_height = 1;
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  if (!mapped) return {0, 0};
  const test::RunResult r =
      test::run(*mapped, machine, {{"x", test::numbers(size_t(n * 12), 3)}}, 12, test::kAsWritten);
  EXPECT_TRUE(r.ok) << r.message;
  return {mapped->placement[0].interval_cycles, double(r.sample_ends[11] - r.sample_ends[5]) / 6};
}

// 12 columns with slices of 8: 96 words and 12 control wavelets. The feeder sends nothing in the 12 cycles
// from one vector to the next (its first vector operation is the eighth instruction, one of them a jump that
// is not taken), in 8 + 5 behind the loop of four slices and 4 before the next loop, in 8 + 8 + 5 behind
// three single slices, and in 5 while it loads the last slice's descriptors; seven jumps wait 2 cycles each for their
// conditions, one before and two behind rounds of four, one before and three behind single ones: 96 + 12 + 55 + 14.
TEST(Size, TheFeederIsAsFastAsItsInstructions) {
  const auto [estimated, simulated] = product_in_a_row(96, 4, 12);
  EXPECT_DOUBLE_EQ(simulated, 177);
  EXPECT_DOUBLE_EQ(estimated, 177);
}

// 32 columns with slices of 16: 512 + 32 + 95 cycles, 20 per column. A column computes for some ten of these;
// then its 8 partial sums cross the link that brings 17 wavelets to the next column, 5 more than there are
// cycles for.
TEST(Size, PartialSumsShareTheLinksOfSlices) {
  const auto [estimated, simulated] = product_in_a_row(512, 8, 32);
  EXPECT_GT(simulated, 639 + 80);
  EXPECT_NEAR(estimated, simulated, 0.03 * simulated);
}

TEST(Size, TheLatencyIsTheEstimatedOne) {
  // One sample alone, one PE and 3 x 2: from the first word in to the last one out, within 15 %.
  for (Origin origin : {Origin::handwritten, Origin::autogen}) {
    for (const auto& [w, h] : {std::pair{1, 1}, {3, 2}}) {
      test::GemmCase c{1, 64, 48, "", origin, {}, {}};
      graph::Graph g = test::gemm_graph(c);
      Machine machine = test::machine("wse2");
      mapping::MapOptions options;
      options.force_width = w;
      options.force_height = h;
      Diag diag;
      std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
      ASSERT_TRUE(mapped) << diag.to_string();
      test::RunResult r = test::run(*mapped, machine, {{"x", test::numbers(64, 3)}}, 1);
      ASSERT_TRUE(r.ok) << r.message;
      const double latency = double(r.sample_ends[0]);
      EXPECT_NEAR(latency, mapped->host.kernels[0].estimated_cycles, 0.15 * latency) << w << " x " << h;
    }
  }
}

// Two streams of 4096 words to 8 PEs, the sum sent in turns: the first PE has its slices of 512 after 1024
// cycles and sends at once; the other 7168 words share the links with the results, two streams in and one
// out: 1.5 cycles each, 11776 in all. (Without results it would be 8192.)
TEST(Size, ResultsShareTheLinksOfOperands) {
  graph::Graph g;
  const graph::ValueId a = g.add_input("a", {DataType::f32, {1, 4096}}, 0);
  const graph::ValueId b = g.add_input("b", {DataType::f32, {1, 4096}}, 0);
  g.set_output(test::add_op(g, "sum", "add", {a, b}, {1, 4096}, Origin::autogen));
  const Machine machine = test::machine("wse2");
  mapping::MapOptions options;
  options.force_width = 8;
  options.force_height = 1;
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  const std::vector<float> x = test::numbers(size_t(4096 * 6), 3);
  const test::RunResult r = test::run(*mapped, machine, {{"a", x}, {"b", x}}, 6);
  ASSERT_TRUE(r.ok) << r.message;
  const double interval = double(r.sample_ends[5] - r.sample_ends[2]) / 3;
  EXPECT_NEAR(interval, 11776, 0.05 * interval);
  EXPECT_NEAR(mapped->placement[0].interval_cycles, interval, 0.05 * interval);
}

}  // namespace
}  // namespace cs

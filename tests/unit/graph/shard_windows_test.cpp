// Convolutions, pools and reductions of pictures in shards: what a part reads, and that values do not change.
#include "compiler/passes/shard_windows.h"

#include <gmock/gmock.h>

#include "tests/unit/graph/shards_bench.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::ElementsAre;

// A picture of two channels and so many rows of five, through windows.
std::string windows_of(int rows, const std::string& node) {
  return graph_of("  - {name: x, type: \"f32[1, 2, " + std::to_string(rows) + ", 5]\", sample_dim: 0}\n",
                  "  - {name: y, " + node + "}\n",
                  "  - {name: w, type: \"f32[2, 2, 3, 3]\", value: " + list_of(36) +
                      "}\n  - {name: d, type: \"f32[2, 1, 3, 3]\", value: " + list_of(18) +
                      "}\n  - {name: p, type: \"f32[3, 2, 1, 1]\", value: " + list_of(6) +
                      "}\n  - {name: b, type: \"f32[2]\", value: [1, -2]}\n");
}
std::vector<int64_t> rows_of(const Graph& g, const std::string& op) {
  std::vector<int64_t> rows;
  for (const NodeId id : g.nodes())
    if (g.node(id).op == op) rows.push_back(g.value(g.node(id).inputs[0]).type.shape[2]);
  return rows;
}

// Rows of a part, and one of each neighbour's.
TEST(ShardsOfWindows, ReadRowsOfTheirNeighbours) {
  Bench s(windows_of(12, "op: conv, inputs: [x, w, b], attrs: {pads: [1, 1, 1, 1]}"));
  EXPECT_EQ(cut(s, 3).operators, 1u);
  EXPECT_THAT(rows_of(s.g, "conv"), ElementsAre(5, 6, 5));
  EXPECT_EQ(count(s.g, "concat"), 4u) << "three with a halo, and the output";
}

// Strides, dilations, padding by a rule, groups, unequal parts, and pools: the values are those of the whole.
TEST(ShardsOfWindows, OfAnyFormGiveTheValuesOfTheWhole) {
  for (const std::string node : {
           "op: conv, inputs: [x, w], attrs: {pads: [1, 1, 1, 1], strides: [2, 2]}",
           "op: conv, inputs: [x, p], attrs: {strides: [3, 1]}",
           "op: conv, inputs: [x, w], attrs: {pads: [2, 0, 2, 0], dilations: [2, 1]}",
           "op: conv, inputs: [x, w], attrs: {auto_pad: SAME_UPPER, strides: [2, 1]}",
           "op: conv, inputs: [x, w], attrs: {auto_pad: SAME_LOWER, strides: [2, 1]}",
           "op: conv, inputs: [x, d, b], attrs: {group: 2, pads: [0, 1, 2, 1]}",
           "op: conv, inputs: [x, p], attrs: {strides: [2, 2]}",
           "op: max_pool, inputs: [x], attrs: {kernel_shape: [3, 2], strides: [2, 1], pads: [1, 0, 1, 1]}",
           "op: max_pool, inputs: [x], attrs: {kernel_shape: [2, 2], strides: [2, 2]}",
           "op: average_pool, inputs: [x], attrs: {kernel_shape: [3, 3], pads: [1, 1, 1, 1]}",
           "op: average_pool, inputs: [x], attrs: {kernel_shape: [3, 3], pads: [1, 1, 1, 1], "
           "count_include_pad: 1}",
           "op: lp_pool, inputs: [x], attrs: {kernel_shape: [3, 3], pads: [1, 1, 1, 1]}",
       })
    for (const int rows : {12, 13})
      for (const int64_t shards : {2, 3}) {
        Bench s(windows_of(rows, node));
        EXPECT_EQ(cut(s, shards).operators, 1u) << node << ", " << rows << " rows in " << shards;
      }
}

// As in a block of a residual network: between windows that are cut alike nothing is put together.
TEST(ShardsOfWindows, FollowEachOther) {
  Bench s(
      graph_of("  - {name: x, type: \"f32[1, 2, 12, 5]\", sample_dim: 0}\n",
               "  - {name: a, op: conv, inputs: [x, w], attrs: {pads: [1, 1, 1, 1]}}\n"
               "  - {name: r, op: relu, inputs: [a]}\n"
               "  - {name: c, op: conv, inputs: [r, w], attrs: {pads: [1, 1, 1, 1]}}\n"
               "  - {name: m, op: add, inputs: [c, x]}\n"
               "  - {name: y, op: max_pool, inputs: [m], attrs: {kernel_shape: [2, 1], strides: [2, 1]}}\n",
               "  - {name: w, type: \"f32[2, 2, 3, 3]\", value: " + list_of(36) + "}\n"));
  const Sharded made = cut(s, 4);
  EXPECT_EQ(made.operators, 5u);
  EXPECT_EQ(made.joined, 1u) << "the output";
  EXPECT_THAT(rows_of(s.g, "add"), ElementsAre(3, 3, 3, 3));
}

// What is reduced along the rows is reduced in parts, which are joined: no part is put together.
TEST(Shards, ReductionsOfPartsAreJoined) {
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"})
    for (const int rows : {8, 10}) {
      Bench s(graph_of("  - {name: x, type: \"f32[1, 2, " + std::to_string(rows) + ", 8]\", sample_dim: 0}\n",
                       "  - {name: a, op: relu, inputs: [x]}\n"
                       "  - {name: y, op: " +
                           op + ", inputs: [a], attrs: {axes: [2, 3], keepdims: 1}}\n"));
      const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
      Sharded made;
      ASSERT_TRUE(make_shards(s.g, 4, made, s.diag)) << s.diag.to_string();
      EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
      EXPECT_EQ(made.operators, 2u);
      EXPECT_EQ(made.joined, 0u);
      const auto after = graph::interpret(s.g, graph::inputs_of(s.g));
      for (const auto& [name, want] : before)
        for (int64_t i = 0; i < want.elements(); ++i)
          EXPECT_NEAR(after.at(name).get(i), want.get(i), 1e-6) << op;
    }
}

// The weights of parts would be none: whole numbers are divided once, behind all of them.
TEST(Shards, MeansOfWholeNumbersAreNotJoined) {
  Bench s(graph_of("  - {name: x, type: \"i32[1, 2, 8, 8]\", sample_dim: 0}\n",
                   "  - {name: a, op: abs, inputs: [x]}\n"
                   "  - {name: y, op: reduce_mean, inputs: [a], attrs: {axes: [2, 3], keepdims: 1}}\n"));
  cut(s, 4);
  EXPECT_EQ(count(s.g, "reduce_mean"), 1u);
}

// A number of windows that is rounded up: the last one counts fewer elements, which padding would change.
TEST(ShardsOfWindows, ThatReachBehindThePaddingStayWhole) {
  Bench s(windows_of(12,
                     "op: average_pool, inputs: [x], attrs: {kernel_shape: [3, 2], strides: [2, 2], "
                     "ceil_mode: 1, count_include_pad: 1}"));
  EXPECT_EQ(cut(s, 3).operators, 0u);
}

}  // namespace
}  // namespace cs::passes

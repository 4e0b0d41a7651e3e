// One sample in shards: which operators are cut, along what, and that values do not change.
#include "compiler/passes/shards.h"

#include <gmock/gmock.h>

#include "compiler/graph/sample.h"
#include "compiler/graph/graph_yaml.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

size_t count(const Graph& g, const std::string& op) {
  size_t n = 0;
  for (const NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// Cut into so many; values are those of the whole, to the bit.
Sharded cut(Bench& s, int64_t shards) {
  const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
  Sharded made;
  EXPECT_TRUE(make_shards(s.g, shards, made, s.diag)) << s.diag.to_string();
  EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
  EXPECT_EQ(graph::interpret(s.g, graph::inputs_of(s.g)), before);
  return made;
}

std::string graph_of(const std::string& input, const std::string& nodes, const std::string& constants = "") {
  return "inputs:\n" + input + (constants.empty() ? "" : "constants:\n" + constants) + "nodes:\n" + nodes +
         "outputs: [y]\n";
}
const char* kTokens = "  - {name: x, type: \"f32[1, 8, 4]\", sample_dim: 0}\n";

TEST(Shards, ElementwiseOperatorsAreCutAndGivenInPieces) {
  Bench s(graph_of(kTokens, "  - {name: a, op: neg, inputs: [x]}\n  - {name: y, op: tanh, inputs: [a]}\n"));
  const Sharded made = cut(s, 4);
  EXPECT_EQ(made.operators, 2u);
  EXPECT_EQ(made.joined, 1u);
  EXPECT_EQ(count(s.g, "slice"), 4u);
  EXPECT_EQ(count(s.g, "tanh"), 4u);
  EXPECT_EQ(count(s.g, "concat"), 1u);
  EXPECT_EQ(s.g.value(s.g.outputs[0]).name, "y");
  EXPECT_EQ(s.g.value(s.g.outputs[0]).sample_dim, 0);
}

// The product's rows are parts; its matrix stays whole, and what is added to every element is cut with them.
TEST(Shards, ConstantsAreCutWhereTheirElementsGoWithThoseOfAPart) {
  Bench s(graph_of(
      kTokens, "  - {name: p, op: add, inputs: [x, c]}\n  - {name: y, op: matmul, inputs: [p, w]}\n",
      "  - {name: c, type: \"f32[8, 4]\", value: [" +
          []() {
            std::string v;
            for (int i = 0; i < 32; ++i) v += (i ? ", " : "") + std::to_string(i % 5);
            return v;
          }() +
          "]}\n  - {name: w, type: \"f32[4, 2]\", value: [1, 2, 3, 4, 5, 6, 7, 8]}\n"));
  EXPECT_EQ(cut(s, 2).operators, 2u);
  size_t whole = 0, parts = 0;
  for (const NodeId id : s.g.nodes())
    for (const graph::ValueId v : s.g.node(id).inputs) {
      if (!s.g.value(v).is_constant()) continue;
      whole += s.g.value(v).type.shape == ops::Shape{4, 2};
      parts += s.g.value(v).type.shape == ops::Shape{4, 4};
    }
  EXPECT_EQ(whole, 2u);
  EXPECT_EQ(parts, 2u);
}

// 7 tokens in 3 shards of 2, 2 and 3.
TEST(Shards, ExtentsNeedNotBeMultiples) {
  Bench s(graph_of(
      "  - {name: x, type: \"f32[1, 7, 4]\", sample_dim: 0}\n",
      "  - {name: a, op: exp, inputs: [x]}\n  - {name: y, op: softmax, inputs: [a], attrs: {axis: -1}}\n"));
  EXPECT_EQ(cut(s, 3).operators, 2u);
  std::vector<int64_t> extents;
  for (const NodeId id : s.g.nodes())
    if (s.g.node(id).op == "softmax") extents.push_back(s.g.value(s.g.node(id).outputs[0]).type.shape[1]);
  EXPECT_THAT(extents, ElementsAre(2, 2, 3));
}

// A softmax over the tokens needs all of them: its operand is put together, once, and what follows is cut
// again only if that saves more words than it costs.
TEST(Shards, WhatMixesPartsTakesTheWhole) {
  Bench s(graph_of("  - {name: x, type: \"f32[1, 8, 3]\", sample_dim: 0}\n",
                   "  - {name: b, op: neg, inputs: [x]}\n"
                   "  - {name: y, op: softmax, inputs: [b], attrs: {axis: 1}}\n"));
  const Sharded made = cut(s, 2);
  EXPECT_EQ(count(s.g, "softmax"), 1u) << "its rows are whole";
  EXPECT_EQ(made.operators, 0u) << "it saves fewer words than putting the value together costs";
}

TEST(Shards, KeysAndValuesOfAttentionArePutTogetherAndQueriesAreNot) {
  Bench s(graph_of(
      kTokens,
      "  - {name: q, op: matmul, inputs: [x, w]}\n  - {name: k, op: matmul, inputs: [x, u]}\n"
      "  - {name: t, op: transpose, inputs: [k], attrs: {perm: [0, 2, 1]}}\n"
      "  - {name: a, op: matmul, inputs: [q, t]}\n  - {name: p, op: softmax, inputs: [a], attrs: {axis: 2}}\n"
      "  - {name: o, op: matmul, inputs: [p, k]}\n  - {name: n, op: add, inputs: [o, x]}\n"
      "  - {name: y, op: relu, inputs: [n]}\n",
      "  - {name: w, type: \"f32[4, 4]\", value: [1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 2, 2, 3, 3, 4, 4]}\n"
      "  - {name: u, type: \"f32[4, 4]\", value: [0, 1, 0, 1, 1, 0, 1, 0, 2, 1, 2, 1, 1, 2, 1, 2]}\n"));
  const Sharded made = cut(s, 4);
  EXPECT_EQ(made.operators, 8u);
  EXPECT_EQ(made.joined, 3u) << "keys, values and the result";
  EXPECT_EQ(count(s.g, "softmax"), 4u);
}

TEST(Shards, ViewsKeepPartsThatAreConsecutive) {
  Bench s(graph_of("  - {name: x, type: \"f32[1, 8, 4]\"}\n",
                   "  - {name: a, op: reshape, inputs: [x], attrs: {shape: [8, 2, 2]}}\n"
                   "  - {name: b, op: exp, inputs: [a]}\n  - {name: c, op: neg, inputs: [b]}\n"
                   "  - {name: y, op: reshape, inputs: [c], attrs: {shape: [4, 2, 4]}}\n"));
  EXPECT_EQ(cut(s, 4).operators, 4u);
  EXPECT_EQ(count(s.g, "exp"), 4u);
}

TEST(Shards, NothingToCutLeavesTheGraphAsItIs) {
  Bench s(graph_of("  - {name: x, type: \"f32[1, 3]\", sample_dim: 0}\n",
                   "  - {name: y, op: softmax, inputs: [x]}\n"));
  const std::string before = graph::graph_text(s.g, "").yaml;
  EXPECT_EQ(cut(s, 8).operators, 0u);
  EXPECT_EQ(graph::graph_text(s.g, "").yaml, before);
}

// The values of 1, 2, 3 … as a YAML list.
std::string numbers(int count) {
  std::string v;
  for (int i = 0; i < count; ++i) v += (i > 0 ? ", " : "") + std::to_string(i % 7 - 3);
  return "[" + v + "]";
}

// Like cut(), by the columns of matrices.
Sharded cut_columns(Bench& s, int64_t columns, ColumnsOf of = ColumnsOf::outputs) {
  const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
  Sharded made;
  EXPECT_TRUE(make_columns(s.g, columns, of, made, s.diag)) << s.diag.to_string();
  EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
  EXPECT_EQ(graph::interpret(s.g, graph::inputs_of(s.g)), before);
  return made;
}

std::string logits_of(int vocabulary) {
  return graph_of(kTokens,
                  "  - {name: h, op: matmul, inputs: [x, w]}\n  - {name: g, op: tanh, inputs: [h]}\n"
                  "  - {name: k, op: matmul, inputs: [g, v]}\n  - {name: l, op: matmul, inputs: [k, u]}\n"
                  "  - {name: y, op: add, inputs: [l, b]}\n",
                  "  - {name: w, type: \"f32[4, 16]\", value: " + numbers(64) + "}\n" +
                      "  - {name: v, type: \"f32[16, 4]\", value: " + numbers(64) + "}\n" +
                      "  - {name: u, type: \"f32[4, " + std::to_string(vocabulary) + "]\", value: " +
                      numbers(4 * vocabulary) + "}\n  - {name: b, type: \"f32[" + std::to_string(vocabulary) +
                      "]\", value: " + numbers(vocabulary) + "}\n");
}

// What gives the output, with the bias behind it; not the layer in between, whose columns the next one adds up.
TEST(ShardsOfColumns, AreOfProductsThatMakeOutputs) {
  Bench s(logits_of(12));
  const Sharded made = cut_columns(s, 4);
  EXPECT_EQ(made.operators, 2u);
  EXPECT_EQ(made.nodes.size(), 9u) << "four products, four sums, the output";
  size_t parts = 0;
  for (const NodeId id : s.g.nodes())
    if (s.g.node(id).op == "matmul")
      parts += s.g.value(s.g.node(id).inputs[1]).type.shape == ops::Shape{4, 3};
  EXPECT_EQ(parts, 4u) << "no column is there twice";
  EXPECT_EQ(count(s.g, "concat"), 1u);
}

TEST(ShardsOfColumns, NeedNotBeEqual) {
  Bench s(logits_of(13));
  EXPECT_EQ(cut_columns(s, 3).operators, 2u);
}

// They take their operand whole, however it is made.
TEST(ShardsOfColumns, StayWhatTheyAreBesideShardsOfTokens) {
  Bench s(logits_of(12));
  const Sharded columns = cut_columns(s, 4);
  const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
  Sharded made;
  ASSERT_TRUE(make_shards(s.g, 2, made, s.diag, columns.nodes)) << s.diag.to_string();
  EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
  EXPECT_EQ(graph::interpret(s.g, graph::inputs_of(s.g)), before);
  EXPECT_EQ(made.operators, 3u) << "the two products before, and what is between them";
  EXPECT_EQ(made.joined, 1u) << "the operand of the last one";
  EXPECT_EQ(count(s.g, "matmul"), 2u * 2 + 4);
}

TEST(ShardsOfColumns, AreNotOfOutputsThatAreNoLargerThanWhatTheyAreMadeOf) {
  Bench s(logits_of(4));
  EXPECT_EQ(cut_columns(s, 2).operators, 0u);
}

// Two heads of four columns, of six tokens and more: their scores are larger than what is put together.
TEST(ShardsOfColumns, AreHeadsOfAttention) {
  std::string nodes, constants;
  for (const std::string v : {"q", "k", "v"}) {
    nodes += "  - {name: p" + v + ", op: matmul, inputs: [x, w" + v + "]}\n  - {name: r" + v +
             ", op: reshape, inputs: [p" + v + "], attrs: {shape: [1, 8, 2, 2]}}\n  - {name: " + v +
             ", op: transpose, inputs: [r" + v +
             "], attrs: {perm: [0, 2, " + (v == "k" ? "3, 1" : "1, 3") + "]}}\n";
    constants += "  - {name: w" + v + ", type: \"f32[4, 4]\", value: " + numbers(16) + "}\n";
  }
  Bench s(graph_of(kTokens,
                   nodes +
                       "  - {name: a, op: matmul, inputs: [q, k]}\n"
                       "  - {name: p, op: softmax, inputs: [a], attrs: {axis: 3}}\n"
                       "  - {name: o, op: matmul, inputs: [p, v]}\n"
                       "  - {name: t, op: transpose, inputs: [o], attrs: {perm: [0, 2, 1, 3]}}\n"
                       "  - {name: m, op: reshape, inputs: [t], attrs: {shape: [1, 8, 4]}}\n"
                       "  - {name: y, op: matmul, inputs: [m, wq]}\n",
                   constants));
  const Sharded made = cut_columns(s, 8, ColumnsOf::heads);
  EXPECT_EQ(made.operators, 14u) << "all but the last product";
  EXPECT_EQ(made.joined, 1u);
  EXPECT_EQ(count(s.g, "softmax"), 2u) << "there are two heads";
  const Sharded both = cut(s, 2);
  EXPECT_GT(both.operators, 0u);
  EXPECT_EQ(count(s.g, "softmax"), 4u) << "and two parts of the tokens";
}

// A softmax needs all columns of an output that is given, too.
TEST(ShardsOfColumns, AreNotOfWhatIsNeededWhole) {
  Bench s(graph_of(kTokens,
                   "  - {name: l, op: matmul, inputs: [x, u]}\n"
                   "  - {name: y, op: softmax, inputs: [l], attrs: {axis: -1}}\n",
                   "  - {name: u, type: \"f32[4, 12]\", value: " + numbers(48) + "}\n"));
  EXPECT_EQ(cut_columns(s, 2).operators, 0u);
}

// x · w, a bias, a sign and · v: 4 to `inside` and back to 4.
std::string layer_of(int inside, const std::string& more = "",
                     const std::string& product = "  - {name: y, op: matmul, inputs: [s, v]}\n") {
  const std::string n = std::to_string(inside);
  return graph_of(kTokens,
                  "  - {name: h, op: matmul, inputs: [x, w]}\n  - {name: g, op: add, inputs: [h, b]}\n"
                  "  - {name: s, op: neg, inputs: [g]}\n" + product + more,
                  "  - {name: w, type: \"f32[4, " + n + "]\", value: " + numbers(4 * inside) +
                      "}\n  - {name: b, type: \"f32[" + n + "]\", value: " + numbers(inside) +
                      "}\n  - {name: v, type: \"f32[" + n + ", 4]\", value: " + numbers(4 * inside) + "}\n");
}

// The columns of the one product and the rows of the other; what is between them is nowhere whole.
TEST(ShardsOfColumns, AreLayersWhoseSumsAreAdded) {
  Bench s(layer_of(16));
  const Sharded made = cut_columns(s, 4, ColumnsOf::sums);
  EXPECT_EQ(made.operators, 4u);
  EXPECT_EQ(made.joined, 0u);
  EXPECT_EQ(count(s.g, "matmul"), 8u);
  EXPECT_EQ(count(s.g, "add"), 4u + 3) << "of biases, and of sums";
  EXPECT_EQ(count(s.g, "concat") + count(s.g, "slice"), 0u);
  EXPECT_EQ(s.g.value(s.g.outputs[0]).name, "y");
}

TEST(ShardsOfColumns, AddUpPartsThatAreNotEqual) {
  Bench s(layer_of(17));
  EXPECT_EQ(cut_columns(s, 3, ColumnsOf::sums).operators, 4u);
  EXPECT_EQ(count(s.g, "matmul"), 6u);
}

// 4 inside is no more than what goes in and comes out; and what leaves as it is has to be whole.
TEST(ShardsOfColumns, AreNotOfLayersThatAreNeededWhole) {
  Bench small(layer_of(4));
  EXPECT_EQ(cut_columns(small, 2, ColumnsOf::sums).operators, 0u);
  Bench twice(layer_of(16,
                       "  - {name: t, op: softmax, inputs: [s], attrs: {axis: 2}}\n"
                       "  - {name: u, op: matmul, inputs: [t, v]}\n  - {name: y, op: add, inputs: [u, r]}\n",
                       "  - {name: r, op: matmul, inputs: [s, v]}\n"));
  EXPECT_EQ(cut_columns(twice, 2, ColumnsOf::sums).operators, 0u);
}

// The bias is added once.
TEST(ShardsOfColumns, AddTheBiasOfASumOnce) {
  Bench s(graph_of("  - {name: x, type: \"f32[1, 4]\", sample_dim: 0}\n",
                   "  - {name: h, op: gemm, inputs: [x, w, b]}\n  - {name: s, op: neg, inputs: [h]}\n"
                   "  - {name: y, op: gemm, inputs: [s, w, c], attrs: {trans_b: 1}}\n",
                   "  - {name: w, type: \"f32[4, 12]\", value: " + numbers(48) +
                       "}\n  - {name: b, type: \"f32[12]\", value: " + numbers(12) +
                       "}\n  - {name: c, type: \"f32[4]\", value: " + numbers(4) + "}\n"));
  EXPECT_EQ(cut_columns(s, 3, ColumnsOf::sums).operators, 3u);
  EXPECT_EQ(count(s.g, "gemm"), 6u);
}

// A picture of two channels and so many rows of five, through windows.
std::string windows_of(int rows, const std::string& node) {
  return graph_of("  - {name: x, type: \"f32[1, 2, " + std::to_string(rows) + ", 5]\", sample_dim: 0}\n",
                  "  - {name: y, " + node + "}\n",
                  "  - {name: w, type: \"f32[2, 2, 3, 3]\", value: " + numbers(36) +
                      "}\n  - {name: d, type: \"f32[2, 1, 3, 3]\", value: " + numbers(18) +
                      "}\n  - {name: p, type: \"f32[3, 2, 1, 1]\", value: " + numbers(6) +
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
               "  - {name: w, type: \"f32[2, 2, 3, 3]\", value: " + numbers(36) + "}\n"));
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

// A number of windows that is rounded up: the last one counts fewer elements, which padding would change.
TEST(ShardsOfWindows, ThatReachBehindThePaddingStayWhole) {
  Bench s(windows_of(12,
                     "op: average_pool, inputs: [x], attrs: {kernel_shape: [3, 2], strides: [2, 2], "
                     "ceil_mode: 1, count_include_pad: 1}"));
  EXPECT_EQ(cut(s, 3).operators, 0u);
}

TEST(SharesOfResults, AreProvedByLoops) {
  Bench s(graph_of(kTokens, "  - {name: y, op: softmax, inputs: [x], attrs: {axis: 2}}\n"));
  const NodeId id = s.g.nodes()[0];
  const graph::Share tokens{{DataType::f32, {1, 2, 4}}, 1}, features{{DataType::f32, {1, 8, 2}}, 2};
  const auto kept = graph::results_of_shares(s.g, id, std::span(&tokens, 1));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ((*kept)[0].dim, 1);
  EXPECT_EQ((*kept)[0].type.shape, (ops::Shape{1, 2, 4}));
  EXPECT_FALSE(graph::results_of_shares(s.g, id, std::span(&features, 1)).has_value());
}

}  // namespace
}  // namespace cs::passes

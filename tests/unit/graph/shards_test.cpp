// One sample in shards: which operators are cut, along what, and that values do not change.
#include "compiler/passes/shards.h"

#include <gmock/gmock.h>

#include "compiler/graph/sample.h"
#include "compiler/graph/graph_yaml.h"
#include "tests/unit/graph/shards_bench.h"

namespace cs::passes {
namespace {

using graph::NodeId;
using ::testing::ElementsAre;

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

// Fewer queries than keys: to put them together costs less, but then scores are in parts of the keys, and rows of
// the softmax would have to be put together; with an operator in between that hands parts on.
TEST(Shards, WhatUsersCannotTakeInPartsIsNotMadeInParts) {
  Bench s(graph_of("  - {name: q, type: \"f32[1, 4, 2]\", sample_dim: 0}\n"
                   "  - {name: k, type: \"f32[1, 16, 2]\", sample_dim: 0}\n",
                   "  - {name: a, op: exp, inputs: [q]}\n  - {name: b, op: exp, inputs: [k]}\n"
                   "  - {name: t, op: transpose, inputs: [b], attrs: {perm: [0, 2, 1]}}\n"
                   "  - {name: s, op: matmul, inputs: [a, t]}\n  - {name: n, op: neg, inputs: [s]}\n"
                   "  - {name: y, op: softmax, inputs: [n], attrs: {axis: -1}}\n"));
  cut(s, 2);
  std::vector<ops::Shape> scores;
  for (const NodeId id : s.g.nodes())
    if (s.g.node(id).op == "matmul") scores.push_back(s.g.value(s.g.node(id).outputs[0]).type.shape);
  EXPECT_THAT(scores, ElementsAre(ops::Shape{1, 2, 16}, ops::Shape{1, 2, 16}));
  EXPECT_EQ(count(s.g, "softmax"), 2u);
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

// Eight streams are joined at once where they are short, and four and four where every PE would drop many words.
TEST(Shards, LargeValuesAreJoinedInSteps) {
  for (const auto& [width, concats] : {std::pair{64, 2u}, {1024, 4u}}) {
    Bench s(graph_of("  - {name: x, type: \"f32[1, 16, " + std::to_string(width) + "]\", sample_dim: 0}\n",
                     "  - {name: a, op: tanh, inputs: [x]}\n  - {name: b, op: tanh, inputs: [a]}\n"
                     "  - {name: t, op: transpose, inputs: [b], attrs: {perm: [0, 2, 1]}}\n"
                     "  - {name: y, op: matmul, inputs: [a, t]}\n"));
    EXPECT_EQ(cut(s, 8).joined, 2u) << "keys and the result";
    EXPECT_EQ(count(s.g, "concat"), concats) << width;
  }
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
                  "  - {name: w, type: \"f32[4, 16]\", value: " + list_of(64) + "}\n" +
                      "  - {name: v, type: \"f32[16, 4]\", value: " + list_of(64) + "}\n" +
                      "  - {name: u, type: \"f32[4, " + std::to_string(vocabulary) + "]\", value: " +
                      list_of(4 * vocabulary) + "}\n  - {name: b, type: \"f32[" + std::to_string(vocabulary) +
                      "]\", value: " + list_of(vocabulary) + "}\n");
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
    constants += "  - {name: w" + v + ", type: \"f32[4, 4]\", value: " + list_of(16) + "}\n";
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
                   "  - {name: u, type: \"f32[4, 12]\", value: " + list_of(48) + "}\n"));
  EXPECT_EQ(cut_columns(s, 2).operators, 0u);
}

// x · w, a bias, a sign and · v: 4 to `inside` and back to 4.
std::string layer_of(int inside, const std::string& more = "",
                     const std::string& product = "  - {name: y, op: matmul, inputs: [s, v]}\n") {
  const std::string n = std::to_string(inside);
  return graph_of(kTokens,
                  "  - {name: h, op: matmul, inputs: [x, w]}\n  - {name: g, op: add, inputs: [h, b]}\n"
                  "  - {name: s, op: neg, inputs: [g]}\n" + product + more,
                  "  - {name: w, type: \"f32[4, " + n + "]\", value: " + list_of(4 * inside) +
                      "}\n  - {name: b, type: \"f32[" + n + "]\", value: " + list_of(inside) +
                      "}\n  - {name: v, type: \"f32[" + n + ", 4]\", value: " + list_of(4 * inside) + "}\n");
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
                   "  - {name: w, type: \"f32[4, 12]\", value: " + list_of(48) +
                       "}\n  - {name: b, type: \"f32[12]\", value: " + list_of(12) +
                       "}\n  - {name: c, type: \"f32[4]\", value: " + list_of(4) + "}\n"));
  EXPECT_EQ(cut_columns(s, 3, ColumnsOf::sums).operators, 3u);
  EXPECT_EQ(count(s.g, "gemm"), 6u);
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

// Graph edges, the verifier, the text form and its diagnostics, groups and chain expressions, samples.
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/dot.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/graph/sample.h"
#include "tests/unit/graph/interpret.h"

namespace cs::graph {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::optional<Graph> from_text(const std::string& text, Diag& diag) {
  return frontend::import_yaml(text, "g.yaml", ".", diag);
}

Graph parse(const std::string& text) {
  Diag diag;
  std::optional<Graph> g = from_text(text, diag);
  EXPECT_TRUE(g.has_value()) << diag.to_string();
  return g ? std::move(*g) : Graph{};
}

std::string complaint(const std::string& text) {
  Diag diag;
  EXPECT_FALSE(from_text(text, diag).has_value());
  EXPECT_FALSE(diag.ok());
  return diag.to_string();
}

const char* kChain = R"(
graph: chain
inputs:
  - {name: x, type: "f32[1, 4]", sample_dim: 0}
constants:
  - {name: w, type: "f32[4, 2]", value: [1, 2, 3, 4, 5, 6, 7, 8]}
  - {name: half, type: "f32[]", value: [0.5]}
nodes:
  - {name: h, op: matmul, inputs: [x, w]}
  - {name: s, op: mul, inputs: [h, half]}
  - {name: y, op: leaky_relu, inputs: [s], attrs: {alpha: 0.1}}
outputs: [y]
)";

TEST(Graph, UsersFollowEveryChangeOfAnEdge) {
  Graph g = parse(kChain);
  ValueId h = *g.find_value("h"), x = *g.find_value("x");
  NodeId s = *g.find_node("s"), y = *g.find_node("y");
  EXPECT_THAT(g.value(h).users, ElementsAre(s));
  g.set_input_of(s, 0, x);
  EXPECT_TRUE(g.value(h).users.empty());
  EXPECT_EQ(g.value(x).users.size(), 2u);
  EXPECT_EQ(g.remove_dead(), 1u);  // the matmul
  EXPECT_EQ(g.value(x).users.size(), 1u);
  EXPECT_FALSE(g.find_node("h").has_value());
  EXPECT_THAT(g.nodes(), ElementsAre(s, y));
}

TEST(Graph, ReplacingAnOutputKeepsItsName) {
  Graph g = parse(kChain);
  ValueId s = *g.find_value("s"), y = *g.find_value("y");
  NodeId last = *g.find_node("y");
  g.replace_uses(y, s);
  g.erase(last);
  ASSERT_EQ(g.outputs.size(), 1u);
  EXPECT_EQ(g.value(g.outputs[0]).name, "y");
  EXPECT_EQ(g.value(g.outputs[0]).producer, *g.find_node("s"));
  Diag diag;
  EXPECT_TRUE(verify(g, diag)) << diag.to_string();
}

TEST(Graph, TextFormReadsBackToTheSameText) {
  Graph g = parse(kChain);
  g.node(*g.find_node("h")).assignment = {Origin::handwritten, graph::KernelId("gemv"),
                                          "library kernel 'gemv', with: a colon", "h", Rect{1, 2, 3, 4}};
  ops::Tensor big(ops::TensorType{DataType::f32, {3, 100}});
  for (int64_t i = 0; i < 300; ++i) big.set(i, double(i) / 7);
  ValueId c = g.add_constant("big", big);
  Node extra;
  extra.name = "extra";
  extra.op = "reduce_sum";
  extra.where = "here";
  extra.inputs = {c};
  extra.attrs = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(0)}};
  g.set_output(g.add_result(g.add_node(extra), "extra_out"));
  Diag diag;
  ASSERT_TRUE(infer_node(g, *g.find_node("extra"), diag));
  GraphText text = graph_text(g, "w.bin");
  EXPECT_EQ(text.weights.size(), 1200u);
  std::optional<YamlDoc> doc = YamlDoc::parse_text(text.yaml, "again.yaml", diag);
  ASSERT_TRUE(doc) << diag.to_string();
  std::optional<Graph> back = graph_from_yaml(*doc, text.weights, diag);
  ASSERT_TRUE(back) << diag.to_string();
  GraphText again = graph_text(*back, "w.bin");
  EXPECT_EQ(again.yaml, text.yaml);
  EXPECT_EQ(again.weights, text.weights);
  EXPECT_EQ(back->node(*back->find_node("h")).assignment, g.node(*g.find_node("h")).assignment);
}

TEST(GraphText, NodesMayHaveSeveralResults) {
  const std::string text =
      "inputs:\n  - {name: x, type: \"f32[2, 4]\"}\n"
      "outputs: [b, place, mask]\nnodes:\n"
      "  - {name: s, op: split, inputs: [x], outputs: [a, b], attrs: {axis: 1, split: [1, 3]}}\n"
      "  - {name: t, op: top_k, inputs: [a], outputs: [~, place], attrs: {k: 1, axis: 0}}\n"
      "  - {name: d, op: dropout, inputs: [x], outputs: [~, mask]}\n";
  Graph g = parse(text);
  EXPECT_EQ(ops::type_text(g.value(*g.find_value("b")).type), "f32[2, 3]");
  EXPECT_EQ(ops::type_text(g.value(*g.find_value("place")).type), "i64[1, 1]");
  EXPECT_EQ(ops::type_text(g.value(*g.find_value("mask")).type), "bool[2, 4]");
  auto out = interpret(g, {{"x", ops::Tensor::from_floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})}});
  EXPECT_THAT(out.at("b").to_floats(), ElementsAre(2, 3, 4, 6, 7, 8));
  EXPECT_THAT(out.at("place").to_floats(), ElementsAre(1));
  Diag diag;
  GraphText once = graph_text(g, "");
  std::optional<YamlDoc> doc = YamlDoc::parse_text(once.yaml, "again.yaml", diag);
  ASSERT_TRUE(doc);
  std::optional<Graph> back = graph_from_yaml(*doc, {}, diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(graph_text(*back, "").yaml, once.yaml);
}

TEST(GraphText, TheNumberOfResultsMustBeThatOfTheOperator) {
  const std::string head = "inputs:\n  - {name: x, type: \"f32[2, 4]\"}\noutputs: [a]\nnodes:\n";
  EXPECT_THAT(complaint(head + "  - {name: a, op: split, inputs: [x], attrs: {num_outputs: 2}}\n"),
              AllOf(HasSubstr("g.yaml:5"), HasSubstr("split gives 2 results, 1 is named")));
  EXPECT_THAT(complaint(head + "  - {name: a, op: relu, inputs: [x], outputs: [a, b]}\n"),
              HasSubstr("relu gives 1 result, 2 are named"));
}

TEST(GraphText, AnUnknownOperatorIsNamedWithItsLineAndTheNearest) {
  std::string text =
      "inputs:\n  - {name: x, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n  - {name: y, op: leeky_relu, inputs: "
      "[x]}\n";
  EXPECT_THAT(complaint(text),
              AllOf(HasSubstr("g.yaml:5"), HasSubstr("leeky_relu"), HasSubstr("did you mean 'leaky_relu'")));
}

TEST(GraphText, EveryProblemIsReportedAtOnce) {
  std::string text =
      "inputs:\n  - {name: x, type: \"f32[4\"}\n  - {name: z, type: \"f32[4]\"}\noutputs: [q]\nnodes:\n"
      "  - {name: a, op: relu, inputs: [zz]}\n  - {name: b, op: relu, inptus: [z]}\n  - {name: b, op: relu, "
      "inputs: [z]}\n";
  EXPECT_THAT(complaint(text),
              AllOf(HasSubstr("'f32[4' is not a type"), HasSubstr("no value 'zz'"), HasSubstr("inptus"),
                    HasSubstr("two nodes are called 'b'"), HasSubstr("no value 'q'")));
}

TEST(GraphText, AShapeMismatchGivesBothShapes) {
  std::string text =
      "inputs:\n  - {name: a, type: \"f32[4]\"}\n  - {name: b, type: \"f32[5]\"}\noutputs: [y]\nnodes:\n"
      "  - {name: y, op: add, inputs: [a, b]}\n";
  EXPECT_THAT(complaint(text), AllOf(HasSubstr("g.yaml:6"), HasSubstr("[4]"), HasSubstr("[5]")));
}

TEST(GraphText, ATypeThatContradictsTheOperandsIsRefused) {
  std::string text =
      "inputs:\n  - {name: a, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n"
      "  - {name: y, op: relu, inputs: [a], type: \"f32[5]\"}\n";
  EXPECT_THAT(complaint(text), AllOf(HasSubstr("f32[5]"), HasSubstr("f32[4]")));
}

TEST(GraphText, ACycleIsReportedWithItsNodes) {
  std::string text =
      "inputs:\n  - {name: a, type: \"f32[4]\"}\noutputs: [y]\nnodes:\n"
      "  - {name: y, op: add, inputs: [a, z]}\n  - {name: z, op: relu, inputs: [y]}\n";
  EXPECT_THAT(complaint(text), AllOf(HasSubstr("cycle"), HasSubstr("y, z")));
}

TEST(GraphText, WeightsBeyondTheFileAreRefused) {
  std::string text =
      "inputs:\n  - {name: a, type: \"f32[4]\"}\nconstants:\n  - {name: w, type: \"f32[4]\", offset: 8}\n"
      "outputs: [y]\nnodes:\n  - {name: y, op: add, inputs: [a, w]}\n";
  EXPECT_THAT(complaint(text), AllOf(HasSubstr("16 bytes"), HasSubstr("offset 8")));
}

TEST(GraphText, AModelConfigurationGoesToItsOwnReader) {
  EXPECT_THAT(complaint("model:\n  hidden_size: 4\n"), HasSubstr("model.name: is missing"));
}

TEST(Chains, TheExpressionOfAChainFoldsScalarsAndSeesThroughViews) {
  Graph g = parse(
      "inputs:\n  - {name: x, type: \"f32[1, 4]\"}\nconstants:\n  - {name: k, type: \"f32[]\", value: [3]}\n"
      "outputs: [y]\nnodes:\n  - {name: a, op: mul, inputs: [x, k]}\n"
      "  - {name: v, op: reshape, inputs: [a], attrs: {shape: [4]}}\n  - {name: y, op: relu, inputs: [v]}\n");
  std::vector<NodeId> nodes = {*g.find_node("a"), *g.find_node("y")};
  ChainExpr chain = chain_expression(g, nodes, *g.find_value("y"));
  EXPECT_THAT(chain.leaves, ElementsAre(*g.find_value("x")));
  EXPECT_EQ(ops::expr_text(chain.expr, std::vector<std::string>{"x"}), "max(x * 3, 0)");
  g.node(nodes[0]).assignment.group = g.node(nodes[1]).assignment.group = "a";
  std::vector<Group> list = groups(g);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_THAT(list[0].nodes, ElementsAre(nodes[0], nodes[1]));
  EXPECT_THAT(list[0].inputs, ElementsAre(*g.find_value("x")));
  EXPECT_THAT(list[0].outputs, ElementsAre(*g.find_value("y")));
}

TEST(Samples, TheDimensionIsFollowedThroughAProductAndATranspose) {
  Graph g = parse(
      "inputs:\n  - {name: x, type: \"f32[1, 2, 3]\", sample_dim: 0}\noutputs: [y]\nnodes:\n"
      "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [1, 0, 2]}}\n"
      "  - {name: y, op: reduce_sum, inputs: [t], attrs: {axes: [0], keepdims: 0}}\n");
  EXPECT_EQ(g.value(*g.find_value("t")).sample_dim, 1);
  EXPECT_EQ(g.value(*g.find_value("y")).sample_dim, 0);
}

TEST(Samples, AnOperatorThatWouldMixSamplesIsRefused) {
  const std::string head =
      "inputs:\n  - {name: x, type: \"f32[1, 3]\", sample_dim: 0}\noutputs: [y]\nnodes:\n";
  EXPECT_THAT(complaint(head + "  - {name: y, op: softmax, inputs: [x], attrs: {axis: 0}}\n"),
              HasSubstr("mix samples"));
  EXPECT_THAT(complaint(head + "  - {name: y, op: reduce_mean, inputs: [x]}\n"), HasSubstr("mix samples"));
  EXPECT_THAT(complaint(head + "  - {name: y, op: reshape, inputs: [x], attrs: {shape: [3]}}\n"),
              HasSubstr("mix samples"));
}

TEST(Samples, LoopsTellWhichOperatorsKeepSamplesApart) {
  const std::string image =
      "inputs:\n  - {name: x, type: \"f32[1, 2, 4, 4]\", sample_dim: 0}\n"
      "constants:\n  - {name: w, type: \"f32[2, 2, 1, 1]\", value: [1, 2, 3, 4]}\n"
      "outputs: [y]\nnodes:\n";
  for (const char* keeps :
       {"{name: y, op: conv, inputs: [x, w]}",
        "{name: y, op: max_pool, inputs: [x], attrs: {kernel_shape: [2, 2]}}",
        "{name: y, op: lrn, inputs: [x], attrs: {size: 3}}",
        "{name: y, op: resize, inputs: [x], attrs: {scales: [1.0, 1.0, 2.0, 2.0]}}",
        "{name: y, op: pad, inputs: [x], attrs: {mode: reflect, pads: [0, 0, 1, 1, 0, 0, 1, 1]}}",
        "{name: y, op: arg_max, inputs: [x], attrs: {axis: 1}}",
        "{name: y, op: cum_sum, inputs: [x], attrs: {axis: 2}}",
        "{name: y, op: mean_variance_norm, inputs: [x], attrs: {axes: [2, 3]}}"}) {
    Graph g = parse(image + "  - " + keeps + "\n");
    EXPECT_EQ(g.value(*g.find_value("y")).sample_dim, 0) << keeps;
  }
  for (const char* mixes : {"{name: y, op: mean_variance_norm, inputs: [x]}",
                            "{name: y, op: cum_sum, inputs: [x], attrs: {axis: 0}}",
                            "{name: y, op: arg_max, inputs: [x], attrs: {axis: 0}}",
                            "{name: y, op: pad, inputs: [x], attrs: {pads: [1, 0, 0, 0, 0, 0, 0, 0]}}",
                            "{name: y, op: tile, inputs: [x], attrs: {repeats: [2, 1, 1, 1]}}",
                            "{name: y, op: concat, inputs: [x, x], attrs: {axis: 0}}"}) {
    EXPECT_THAT(complaint(image + "  - " + mixes + "\n"), HasSubstr("mix samples")) << mixes;
  }
}

// [steps * samples, features], as exported attention has it: samples are a digit of a dimension.
TEST(Samples, OneDimensionMayCountSamplesAndSomethingElse) {
  const std::string head =
      "inputs:\n  - {name: x, type: \"f32[1, 4, 3]\", sample_dim: 0}\n"
      "constants:\n  - {name: w, type: \"f32[3, 2]\", value: [1, 2, 3, 4, 5, 6]}\n"
      "outputs: [y]\nnodes:\n"
      "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [1, 0, 2]}}\n"
      "  - {name: f, op: reshape, inputs: [t], attrs: {shape: [-1, 3]}}\n"
      "  - {name: m, op: gemm, inputs: [f, w]}\n";
  Graph g = parse(head +
                  "  - {name: b, op: reshape, inputs: [m], attrs: {shape: [4, -1, 2]}}\n"
                  "  - {name: y, op: transpose, inputs: [b], attrs: {perm: [1, 0, 2]}}\n");
  EXPECT_EQ(g.value(*g.find_value("m")).sample_dim, 0);
  EXPECT_EQ(g.value(*g.find_value("m")).sample_stride, 2);  // a sample's features, then the next sample's
  EXPECT_EQ(g.value(*g.find_value("y")).sample_dim, 0);
  EXPECT_EQ(g.value(*g.find_value("y")).sample_stride, 0);
  // Over the dimension; over a part of it that does not end where samples do; as a result with samples
  // inside.
  EXPECT_THAT(complaint(head + "  - {name: y, op: softmax, inputs: [m], attrs: {axis: 0}}\n"),
              HasSubstr("mix samples"));
  EXPECT_THAT(complaint(head + "  - {name: y, op: reshape, inputs: [m], attrs: {shape: [2, -1, 2, 2]}}\n"),
              HasSubstr("mix samples"));
  EXPECT_THAT(complaint(head + "  - {name: y, op: identity, inputs: [m]}\n"),
              HasSubstr("its dimension 0 counts something else before them"));
}

// All of a sample's elements in one dimension that samples share: nothing may be summed over it.
TEST(Samples, ADimensionOfAllSamplesIsNotSummed) {
  const std::string head =
      "inputs:\n  - {name: x, type: \"f32[1, 4]\", sample_dim: 0}\noutputs: [y]\nnodes:\n"
      "  - {name: f, op: reshape, inputs: [x], attrs: {shape: [1, -1]}}\n";
  EXPECT_THAT(complaint(head + "  - {name: y, op: reduce_sum, inputs: [f], attrs: {axes: [1]}}\n"),
              HasSubstr("mix samples"));
  Graph g = parse(head +
                  "  - {name: r, op: relu, inputs: [f]}\n"
                  "  - {name: y, op: reshape, inputs: [r], attrs: {shape: [-1, 4]}}\n");
  EXPECT_EQ(g.value(*g.find_value("y")).sample_dim, 0);
}

// A constant of which every sample has its own, equal part, as zeros for a state.
TEST(Samples, ConstantsMayHaveSamplesToo) {
  Graph g = parse(
      "inputs:\n  - {name: x, type: \"f32[1, 2]\", sample_dim: 0}\n"
      "constants:\n  - {name: c, type: \"f32[1, 1]\", sample_dim: 0, value: [3]}\n"
      "outputs: [y]\nnodes:\n  - {name: y, op: concat, inputs: [x, c], attrs: {axis: 1}}\n");
  EXPECT_EQ(g.value(*g.find_value("y")).sample_dim, 0);
  EXPECT_THAT(graph_text(g, "").yaml, HasSubstr("{name: c, type: \"f32[1, 1]\", sample_dim: 0, value: [3]}"));
}

TEST(Dot, NamesAreQuoted) {
  Graph g = parse(kChain);
  std::string dot = graph_dot(g);
  EXPECT_THAT(dot,
              AllOf(HasSubstr("digraph \"chain\""), HasSubstr("\"h\" -> \"s\""), HasSubstr("\"out y\"")));
}

}  // namespace
}  // namespace cs::graph

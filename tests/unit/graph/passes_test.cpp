// Passes: what each makes of a small graph, and that values do not change.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/fold.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/passes/passes.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::HasSubstr;

std::map<std::string, ops::Tensor> x_of(ops::Shape shape) {
  ops::Tensor x(ops::TensorType{DataType::f32, std::move(shape)});
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, 0.25 * double(i) - 0.5);
  return {{"x", x}};
}

TEST(Fold, NodesWithConstantOperandsDisappear) {
  Bench s(
      "inputs:\n  - {name: x, type: \"f32[2]\"}\nconstants:\n  - {name: a, type: \"f32[2]\", value: [1, "
      "4]}\nnodes:\n"
      "  - {name: r, op: sqrt, inputs: [a]}\n  - {name: n, op: neg, inputs: [r]}\n  - {name: y, op: add, "
      "inputs: [x, n]}\n"
      "outputs: [y]\n");
  ASSERT_TRUE(s.run(fold_constants)) << s.diag.to_string();
  EXPECT_EQ(s.g.nodes().size(), 1u);
  const ops::Tensor* n = s.g.constant_of(s.g.node(*s.g.find_node("y")).inputs[1]);
  ASSERT_NE(n, nullptr);
  EXPECT_THAT(n->to_floats(), ::testing::ElementsAre(-1, -2));
}

// A table of words of 393 MB is folded where that takes no more room than it has, a number that becomes as
// much is not.
TEST(Fold, WhatIsLargeIsFoldedIfItDoesNotGrow) {
  const ops::TensorType large{DataType::f16, {50257, 4096}}, turned{DataType::f16, {4096, 50257}};
  for (bool grows : {false, true}) {
    Graph g;
    const graph::ValueId c = g.add_constant("c", ops::Tensor(ops::TensorType{DataType::f16, {}}));
    if (!grows) g.value(c).type = large;
    graph::Node node;
    node.name = "t";
    node.op = "transpose";
    node.inputs = {c};
    const graph::NodeId id = g.add_node(std::move(node));
    graph::Value& result = g.value(g.add_result(id, "y"));
    result.type = turned;
    result.typed = true;
    EXPECT_EQ(graph::can_fold(g, id), !grows);
  }
}

const char* kProduct =
    "inputs:\n  - {name: x, type: \"f32[1, 3]\", sample_dim: 0}\nconstants:\n"
    "  - {name: w, type: \"f32[3, 2]\", value: [1, 2, 3, 4, 5, 6]}\n  - {name: b, type: \"f32[2]\", value: "
    "[0.5, -1]}\n"
    "nodes:\n  - {name: i, op: identity, inputs: [x]}\n  - {name: m, op: matmul, inputs: [i, w]}\n"
    "  - {name: y, op: add, inputs: [b, m]}\noutputs: [y]\n";

TEST(Canonicalise, AMatmulTakesTheBiasAddedToIt) {
  Bench s(kProduct);
  auto before = graph::interpret(s.g, x_of({1, 3}));
  ASSERT_TRUE(s.run(canonicalise)) << s.diag.to_string();
  ASSERT_EQ(s.g.nodes().size(), 1u);
  EXPECT_EQ(s.g.node(s.g.nodes()[0]).op, "gemm");
  EXPECT_EQ(graph::interpret(s.g, x_of({1, 3})), before);
}

TEST(Canonicalise, FactorsOfGemmGoIntoItsConstants) {
  Bench s(
      "inputs:\n  - {name: x, type: \"f32[1, 2]\"}\nconstants:\n  - {name: w, type: \"f32[2, 2]\", value: "
      "[1, 2, 3, 4]}\n"
      "  - {name: b, type: \"f32[2]\", value: [1, 1]}\nnodes:\n"
      "  - {name: y, op: gemm, inputs: [x, w, b], attrs: {alpha: 0.5, beta: 4}}\noutputs: [y]\n");
  auto before = graph::interpret(s.g, x_of({1, 2}));
  ASSERT_TRUE(s.run(canonicalise));
  NodeId y = *s.g.find_node("y");
  EXPECT_EQ(ops::attr_real(s.g.op(y), s.g.node(y).attrs, "alpha"), 1);
  EXPECT_EQ(ops::attr_real(s.g.op(y), s.g.node(y).attrs, "beta"), 1);
  EXPECT_EQ(graph::interpret(s.g, x_of({1, 2})), before);
}

const char* kSoftmax =
    "inputs:\n  - {name: x, type: \"f32[1, 6]\", sample_dim: 0}\nnodes:\n"
    "  - {name: y, op: softmax, inputs: [x], attrs: {axis: 1}}\noutputs: [y]\n";

TEST(Decompose, ALibraryKernelKeepsACompoundWhole) {
  for (Policy policy : {Policy::disabled, Policy::medium}) {
    Bench s(kSoftmax, policy);
    ASSERT_TRUE(s.run(decompose_compounds)) << s.diag.to_string();
    ASSERT_TRUE(s.run(choose_origins)) << s.diag.to_string();
    ASSERT_EQ(s.g.nodes().size(), 1u);
    EXPECT_EQ(s.g.node(s.g.nodes()[0]).assignment.kernel.name(), "softmax");
  }
}

TEST(Decompose, SoftmaxBecomesPrimitivesThatRememberIt) {
  Bench s(kSoftmax, Policy::aggressive);
  auto before = graph::interpret(s.g, x_of({1, 6}));
  ASSERT_TRUE(s.run(decompose_compounds)) << s.diag.to_string();
  EXPECT_EQ(s.g.nodes().size(), 5u);
  for (NodeId id : s.g.nodes()) {
    EXPECT_EQ(s.g.node(id).from, "y");
    EXPECT_EQ(s.g.node(id).from_op, "softmax");
  }
  EXPECT_EQ(graph::interpret(s.g, x_of({1, 6})), before);
  EXPECT_EQ(s.g.value(s.g.outputs[0]).sample_dim, 0);
}

// Streams between the parts have no way: one kernel again, and if that does not fit either, the host.
TEST(Decompose, PartsWithoutRoutesBecomeOneKernelAgain) {
  Bench parts(kSoftmax, Policy::aggressive);
  ASSERT_TRUE(parts.run(decompose_compounds)) << parts.diag.to_string();
  Fallbacks fallbacks;
  ASSERT_TRUE(fallbacks.step_down(parts.g, {}));
  EXPECT_TRUE(fallbacks.whole("y"));
  Bench whole(kSoftmax, Policy::aggressive);
  whole.context.fallbacks = fallbacks;
  ASSERT_TRUE(whole.run(decompose_compounds)) << whole.diag.to_string();
  ASSERT_EQ(whole.g.nodes().size(), 1u);
  EXPECT_FALSE(whole.g.node(whole.g.nodes()[0]).assignment.origin);  // the policy's choice
  EXPECT_FALSE(fallbacks.step_down(whole.g, {}));
  ASSERT_TRUE(fallbacks.step_down(whole.g, {{"kernel", {"y"}, "too many bytes", 0}}));
  Bench host(kSoftmax, Policy::aggressive);
  host.context.fallbacks = fallbacks;
  ASSERT_TRUE(host.run(decompose_compounds)) << host.diag.to_string();
  ASSERT_EQ(host.g.nodes().size(), 1u);
  const graph::Assignment& a = host.g.node(host.g.nodes()[0]).assignment;
  EXPECT_EQ(a.origin, Origin::host);
  EXPECT_THAT(a.reason,
              ::testing::AllOf(HasSubstr("no routes between its parts"), HasSubstr("too many bytes")));
}

// The library has a relu and the host the rest: a relu alone between two operators of the host has the
// shortest way to The library has a relu, and the host has the rest: of the kernels between its operators
// those alone join them.
TEST(Fallbacks, KernelsBetweenOperatorsOfTheHostJoinThemWhereStreamsHaveNoWay) {
  std::string text = "inputs:\n  - {name: x, type: \"f32[8]\"}\nnodes:\n";
  std::string last = "x";
  for (const auto& [name, op] : {std::pair("a", "relu"), std::pair("h", "tanh"), std::pair("b", "relu"),
                                 std::pair("c", "relu"), std::pair("i", "tanh"), std::pair("d", "relu")}) {
    text += fmt::format("  - {{name: {}, op: {}, inputs: [{}]}}\n", name, op, last);
    last = name;
  }
  text += "outputs: [d]\n";
  Fallbacks fallbacks;
  const auto on_host = [&] {
    Bench s(text, Policy::disabled);
    s.context.host_ops = HostOps::allow;
    s.context.fallbacks = fallbacks;
    EXPECT_TRUE(s.run(choose_origins)) << s.diag.to_string();
    std::string names;
    for (NodeId id : s.g.nodes())
      if (s.g.node(id).assignment.origin == Origin::host) names += s.g.node(id).name;
    return std::pair(names, std::move(s.g));
  };
  auto [before, g] = on_host();
  EXPECT_EQ(before, "hi");
  ASSERT_TRUE(fallbacks.step_down(g, {}));
  EXPECT_TRUE(fallbacks.with_the_host("a"));
  EXPECT_TRUE(fallbacks.with_the_host("d"));
  auto [after, less] = on_host();
  EXPECT_EQ(after, "ahid");
  EXPECT_THAT(less.node(*less.find_node("a")).assignment.reason, HasSubstr("have no way"));
  // b and c alone are left, and nothing is gained by fewer.
  EXPECT_FALSE(fallbacks.step_down(less, {}));
}

TEST(Decompose, WithoutGenerationACompoundStaysWholeOnTheHost) {
  Bench s(
      "inputs:\n  - {name: x, type: \"f32[1, 6]\", sample_dim: 0}\nnodes:\n"
      "  - {name: y, op: mean_variance_norm, inputs: [x], attrs: {axes: [1]}}\noutputs: [y]\n",
      Policy::disabled);
  ASSERT_TRUE(s.run(decompose_compounds));
  ASSERT_EQ(s.g.nodes().size(), 1u);
  EXPECT_EQ(s.g.node(s.g.nodes()[0]).assignment.origin, Origin::host);
  EXPECT_THAT(s.g.node(s.g.nodes()[0]).assignment.reason, HasSubstr("sub"));
}

// 20000 rows of 4 bytes are more than three quarters of 48 KB: parts of 6667 rows. Indices at the edges of
// parts, and from the end.
TEST(Tables, ALongTableIsGatheredInParts) {
  Bench s(
      "inputs:\n  - {name: i, type: \"i32[2, 5]\"}\nconstants:\n  - {name: t, type: \"f32[20000, 1]\", "
      "value: [" +
      numbers(20000) +
      "]}\nnodes:\n  - {name: y, op: gather, inputs: [t, i], attrs: {axis: 0}}\noutputs: [y]\n");
  ops::Tensor index(ops::TensorType{DataType::i32, {2, 5}});
  const int at[] = {0, 6666, 6667, 13333, 13334, 19999, -1, -20000, -13334, 42};
  for (int k = 0; k < 10; ++k) index.set(k, at[k]);
  ASSERT_TRUE(s.run(split_tables)) << s.diag.to_string();
  int gathers = 0;
  for (NodeId id : s.g.nodes()) {
    if (s.g.node(id).op != "gather") continue;
    ++gathers;
    EXPECT_LE(s.g.constant_of(s.g.node(id).inputs[0])->type.shape[0], 6667);
  }
  EXPECT_EQ(gathers, 3);
  const ops::Tensor y = graph::interpret(s.g, {{"i", index}}).begin()->second;
  EXPECT_EQ(y.type.shape, (ops::Shape{2, 5, 1}));
  for (int k = 0; k < 10; ++k) EXPECT_EQ(y.get(k), at[k] < 0 ? at[k] + 20000 : at[k]) << at[k];
}

TEST(Fuse, AResultThatIsNeededElsewhereIsNotFusedAway) {
  const std::string head =
      "inputs:\n  - {name: x, type: \"f32[1, 4]\"}\nconstants:\n  - {name: w, type: \"f32[4, 2]\", value: "
      "[1, 2, 3, 4, 5, 6, 7, 8]}\n"
      "nodes:\n  - {name: m, op: matmul, inputs: [x, w]}\n  - {name: t, op: tanh, inputs: [m]}\n";
  Bench alone(head + "outputs: [t]\n");
  ASSERT_TRUE(alone.run(choose_origins) && alone.run(fuse_elementwise));
  EXPECT_EQ(graph::groups(alone.g).size(), 1u);
  Bench shared(head + "outputs: [t, m]\n");
  ASSERT_TRUE(shared.run(choose_origins) && shared.run(fuse_elementwise));
  EXPECT_EQ(graph::groups(shared.g).size(), 2u);
}

// Each of them is about as fast with those before it, all together are not.
TEST(Fuse, AChainDoesNotGrowFromOneCheapLinkToTheNext) {
  std::string text = "inputs:\n  - {name: x0, type: \"f32[1, 128]\"}\nnodes:\n";
  for (int i = 0; i < 200; ++i)
    text += "  - {name: n" + std::to_string(i) + ", op: relu, inputs: [x" + std::to_string(i) +
            "], outputs: [x" + std::to_string(i + 1) + "]}\n";
  Bench s(text + "outputs: [x200]\n");
  ASSERT_TRUE(s.run(choose_origins) && s.run(fuse_elementwise));
  const std::vector<graph::Group> groups = graph::groups(s.g);
  EXPECT_LT(groups.size(), 100u) << "some are fused";
  for (const graph::Group& group : groups) EXPECT_LE(group.nodes.size(), 20u);
}

// y = x W + x: the sum needs x once more, as a stream that an epilogue cannot have.
// Each node that joins costs a look at all nodes of the kernel: 200 are 64 + 64 + 64 + 8.
TEST(Fuse, AKernelHasAnEnd) {
  std::string nodes, last = "x";
  for (int i = 0; i < 200; ++i) {
    nodes += fmt::format("  - {{name: n{}, op: neg, inputs: [{}]}}\n", i, last);
    last = fmt::format("n{}", i);
  }
  Bench s("inputs:\n  - {name: x, type: \"f32[4]\"}\nnodes:\n" + nodes + "outputs: [n199]\n");
  ASSERT_TRUE(s.run(choose_origins) && s.run(fuse_elementwise));
  std::vector<size_t> sizes;
  for (const graph::Group& group : graph::groups(s.g)) sizes.push_back(group.nodes.size());
  EXPECT_THAT(sizes, ::testing::ElementsAre(64, 64, 64, 8));
}

TEST(Fuse, AProductDoesNotTakeAnEpilogueThatUsesItsInput) {
  Bench s(
      "inputs:\n  - {name: x, type: \"f32[1, 2]\"}\nconstants:\n  - {name: w, type: \"f32[2, 2]\", value: "
      "[1, 2, 3, 4]}\n"
      "nodes:\n  - {name: m, op: matmul, inputs: [x, w]}\n  - {name: y, op: add, inputs: [m, x]}\n"
      "outputs: [y]\n");
  ASSERT_TRUE(s.run(choose_origins) && s.run(fuse_elementwise));
  EXPECT_EQ(graph::groups(s.g).size(), 2u);
}

TEST(Pipeline, DumpsStopAndStartAgain) {
  const std::string dir = ::testing::TempDir() + "/pipeline_dumps";
  std::filesystem::remove_all(dir);
  Bench s(kProduct);
  PipelineOptions options;
  options.stop_after = "fuse";
  options.dump_after = "changed";
  options.dump_dir = dir;
  std::vector<PassRecord> records;
  ASSERT_TRUE(run_passes(s.g, s.context, options, records)) << s.diag.to_string();
  EXPECT_EQ(records.size(), 13u);
  EXPECT_TRUE(std::filesystem::exists(dir + "/04-canonicalise.yaml"));
  EXPECT_FALSE(std::filesystem::exists(dir + "/03-fold.yaml"));  // nothing to fold, nothing changed
  // From the plan on, the passes change nothing any more.
  std::string plan = graph::graph_text(s.g, "").yaml;
  Bench again(plan);
  options.dump_after.clear();
  ASSERT_TRUE(run_passes(again.g, again.context, options, records)) << again.diag.to_string();
  EXPECT_EQ(graph::graph_text(again.g, "").yaml, plan);
}

}  // namespace
}  // namespace cs::passes

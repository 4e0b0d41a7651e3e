// Origins: who makes an operator under each policy, and why.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::HasSubstr;

std::map<std::string, int> count_origins(Policy policy) {
  Diag diag;
  auto machine = load_machine("wse2", diag);
  auto g = frontend::load_model(std::string(CS_SOURCE_DIR) + "/models/mnist_mlp/model.onnx", {}, diag);
  EXPECT_TRUE(machine && g) << diag.to_string();
  PassContext context{*machine, policy, {}, diag, {}};
  PipelineOptions options;
  options.stop_after = "fuse";
  std::vector<PassRecord> records;
  EXPECT_TRUE(run_passes(*g, context, options, records)) << diag.to_string();
  std::map<std::string, int> counts;
  for (NodeId id : g->nodes()) {
    const graph::Node& n = g->node(id);
    if (!graph::is_transparent(*g, id)) ++counts[n.op + " " + std::string(origin_name(*n.assignment.origin))];
    EXPECT_TRUE(graph::is_transparent(*g, id) || !n.assignment.reason.empty()) << n.name;
  }
  counts["groups"] = int(graph::groups(*g).size());
  return counts;
}

TEST(Policy, DecidesWhoMakesTheSampleNetwork) {
  // Seven products and six LeakyReLU; fused, a LeakyReLU is part of the product before it. A small product is
  // faster generated.
  EXPECT_EQ(count_origins(Policy::disabled),
            (std::map<std::string, int>{{"gemm handwritten", 7}, {"leaky_relu host", 6}, {"groups", 13}}));
  EXPECT_EQ(count_origins(Policy::medium),
            (std::map<std::string, int>{{"gemm autogen", 7}, {"leaky_relu autogen", 6}, {"groups", 7}}));
  EXPECT_EQ(count_origins(Policy::aggressive),
            (std::map<std::string, int>{{"gemm autogen", 7}, {"leaky_relu autogen", 6}, {"groups", 7}}));
}

TEST(Policy, AnOriginThatAPlanSaysIsKept) {
  Bench s(
      "inputs:\n  - {name: x, type: \"f32[8]\"}\nnodes:\n  - {name: a, op: relu, inputs: [x], origin: host, "
      "kernel: host}\n"
      "  - {name: y, op: relu, inputs: [a]}\noutputs: [y]\n");
  ASSERT_TRUE(s.run(choose_origins));
  EXPECT_EQ(s.g.node(*s.g.find_node("a")).assignment.origin, Origin::host);
  EXPECT_EQ(s.g.node(*s.g.find_node("y")).assignment.origin, Origin::handwritten);
}

const char* kProductAndRelu =
    "inputs:\n  - {name: x, type: \"f32[1, 4]\"}\nconstants:\n  - {name: w, type: \"f32[4, 2]\", value: [1, "
    "2, 3, 4, 5, 6, 7, 8]}\n"
    "  - {name: b, type: \"f32[2]\", value: [1, 2]}\nnodes:\n  - {name: g, op: gemm, inputs: [x, w, b]}\n"
    "  - {name: y, op: relu, inputs: [g]}\noutputs: [y]\n";

// The library has a kernel for each; one for both needs no stream between them.
TEST(Policy, AReluOfTheLibraryJoinsTheProductBeforeIt) {
  Bench medium(kProductAndRelu);
  ASSERT_TRUE(medium.run(choose_origins));
  EXPECT_THAT(medium.g.node(*medium.g.find_node("y")).assignment.reason, ::testing::StartsWith("kept: "));
  ASSERT_TRUE(medium.run(fuse_elementwise));
  EXPECT_EQ(graph::groups(medium.g).size(), 1u);
  Bench disabled(kProductAndRelu, Policy::disabled);
  ASSERT_TRUE(disabled.run(choose_origins) && disabled.run(fuse_elementwise));
  EXPECT_EQ(graph::groups(disabled.g).size(), 2u);
}

// Eight rows by 64 columns of 64 steps: one instruction for a row of a slice instead of one for every word
// that comes.
TEST(Policy, AProductOfSeveralRowsComesFromItsLoopsWhereThatIsFaster) {
  const auto product = [](Form form, int rows) {
    Bench b(fmt::format(
        "inputs:\n  - {{name: x, type: \"f32[{}, 64]\"}}\nconstants:\n  - {{name: w, type: \"f32[64, 64]\", "
        "value: [{}]}}\nnodes:\n  - {{name: y, op: matmul, inputs: [x, w]}}\noutputs: [y]\n",
        rows, numbers(64 * 64)));
    b.context.form = form;
    EXPECT_TRUE(b.run(choose_origins)) << b.diag.to_string();
    return b.g.node(*b.g.find_node("y")).assignment;
  };
  const graph::Assignment loops = product(Form::joined, 8);
  EXPECT_EQ(loops.kernel.name(), "dtg-region");
  EXPECT_THAT(loops.reason, ::testing::StartsWith("beneficial by "));
  EXPECT_NE(product(Form::streamed, 8).kernel.name(), "dtg-region");
  EXPECT_NE(product(Form::library, 8).kernel.name(), "dtg-region");
}

// 1 MB on a row of 16 PEs is more than they hold, so the row becomes a region; but not once more when that
// had no room.
TEST(Regions, WhatNoRowHoldsBecomesARegionOnce) {
  for (const bool refused : {false, true}) {
    Bench b(
        "inputs:\n  - {name: x, type: \"i32[4]\"}\nconstants:\n  - {name: w, type: \"f32[4096, 64]\", value: "
        "[" +
            numbers(4096 * 64) +
            "]}\n"
            "nodes:\n  - {name: y, op: gather, inputs: [w, x], attrs: {axis: 0}}\noutputs: [y]\n",
        Policy::disabled);
    b.machine.fabric.user_width = 18;
    if (refused) b.context.fallbacks.refuse("y", Origin::autogen, "it had no room");
    b.g.node(*b.g.find_node("y")).assignment = choose_origin(b.g, *b.g.find_node("y"), Policy::disabled, {});
    ASSERT_EQ(b.g.node(*b.g.find_node("y")).assignment.kernel.name(), "lookup");
    ASSERT_TRUE(b.run(fuse_regions)) << b.diag.to_string();
    EXPECT_EQ(b.g.node(*b.g.find_node("y")).assignment.kernel.name(), refused ? "lookup" : "dtg-region");
  }
}

// No kernel computes in 64 bits: operator and line are named, as a warning or as an error.
TEST(Policy, WhatIsLeftToTheHostIsNamed) {
  const char* text =
      "inputs:\n  - {name: x, type: \"f64[1, 4]\"}\nnodes:\n  - {name: y, op: neg, inputs: [x]}\noutputs: "
      "[y]\n";
  Bench allow(text);
  ASSERT_TRUE(allow.run(choose_origins));
  EXPECT_EQ(allow.g.node(allow.g.nodes()[0]).assignment.origin, Origin::host);
  EXPECT_THAT(allow.g.node(allow.g.nodes()[0]).assignment.reason, ::testing::StartsWith("needed: "));
  EXPECT_EQ(allow.diag.to_string(), "");
  Bench warn(text);
  warn.context.host_ops = HostOps::warn;
  ASSERT_TRUE(warn.run(choose_origins) && warn.run(judge_host));
  EXPECT_THAT(warn.diag.to_string(),
              testing::AllOf(HasSubstr("g.yaml:4"), HasSubstr("warning: neg 'y' runs on the host")));
  Bench forbid(text);
  forbid.context.host_ops = HostOps::forbid;
  EXPECT_TRUE(forbid.run(choose_origins));
  EXPECT_FALSE(forbid.run(judge_host));
  EXPECT_THAT(forbid.diag.to_string(), testing::AllOf(HasSubstr("g.yaml:4"), HasSubstr("error: "),
                                                      HasSubstr("neg 'y' runs on the host")));
}

}  // namespace
}  // namespace cs::passes

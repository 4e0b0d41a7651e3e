// What the passes make of losses: one kernel per direction where use_autogen asks for it, else primitives
// that join nothing, and what happens where one kernel is not to be had.
#include "compiler/passes/losses.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/graph_yaml.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A loss and its backward pass, with a relu before and behind that would like to join it.
std::string text(const std::string& row, const std::string& attrs, const std::string& target = "f32[4, 6]") {
  const std::string a = attrs.empty() ? "" : ", " + attrs;
  return fmt::format(
      "inputs:\n  - {{name: x, type: \"f32[4, 6]\"}}\n  - {{name: t, type: \"{1}\"}}\n"
      "  - {{name: up, type: \"f32[]\"}}\n"
      "nodes:\n  - {{name: h, op: relu, inputs: [x]}}\n"
      "  - {{name: loss, op: {0}_loss, inputs: [h, t], attrs: {{reduction: mean{2}}}}}\n"
      "  - {{name: back, op: {0}_loss_gradient, inputs: [h, t, {3}up], attrs: {{reduction: mean, wanted: "
      "[0]{2}}}}}\n"
      "  - {{name: r, op: relu, inputs: [loss]}}\n  - {{name: s, op: relu, inputs: [back]}}\n"
      "outputs: [r, s]\n",
      row, target, a, row == "cross_entropy" ? "~, " : "");
}

struct Passed {
  Machine machine;
  Diag diag;
  Graph g;
  PassContext context;
  bool ok = false;

  explicit Passed(const std::string& model, AutogenFailure failure = AutogenFailure::primitives,
                  Policy policy = Policy::medium, const Fallbacks& fallbacks = {})
      : context{machine, policy, {}, diag, {}} {
    machine = *load_machine("wse2", diag);
    context.autogen_failure = failure;
    context.fallbacks = fallbacks;
    std::optional<Graph> parsed = frontend::import_yaml(model, "g.yaml", ".", diag);
    EXPECT_TRUE(parsed) << diag.to_string();
    if (!parsed) return;
    g = std::move(*parsed);
    std::vector<PassRecord> records;
    PipelineOptions to;
    to.stop_after = "regions";
    ok = run_passes(g, context, to, records);
  }
  // Nodes of a loss that are no views.
  std::vector<NodeId> parts(const std::string& loss) const {
    std::vector<NodeId> list;
    for (NodeId id : g.nodes()) {
      const graph::Node& n = g.node(id);
      if ((n.name == loss || n.from == loss) && !graph::is_transparent(g, id)) list.push_back(id);
    }
    return list;
  }
};

TEST(LossPass, OneKernelPerDirectionIfThatIsAskedFor) {
  Passed p(text("mse", "use_autogen: 1"));
  ASSERT_TRUE(p.ok) << p.diag.to_string();
  for (const char* name : {"loss", "back"}) {
    const auto id = p.g.find_node(name);
    ASSERT_TRUE(id) << name;
    EXPECT_EQ(p.g.node(*id).assignment.origin, Origin::autogen) << name;
    EXPECT_EQ(p.g.node(*id).assignment.group, "") << name << " joined another kernel";
    EXPECT_THAT(p.g.node(*id).assignment.reason, HasSubstr("use_autogen"));
  }
  EXPECT_THAT(p.context.unfused, IsEmpty());
  EXPECT_EQ(p.diag.to_string(), "");
}

TEST(LossPass, WithoutItPrimitivesStandAlone) {
  for (const char* attrs : {"", "use_autogen: 0"}) {
    Passed p(text("cross_entropy", attrs, "i32[4]"));
    ASSERT_TRUE(p.ok) << p.diag.to_string();
    for (const char* name : {"loss", "back"}) {
      EXPECT_FALSE(p.g.find_node(name)) << name;
      EXPECT_GT(p.parts(name).size(), 5u) << name;
      for (NodeId id : p.parts(name)) EXPECT_EQ(p.g.node(id).assignment.group, "") << p.g.node(id).name;
      ASSERT_TRUE(p.context.unfused.contains(name));
      EXPECT_GT(p.context.unfused.at(name), 0) << name << " has no estimate against one kernel";
    }
  }
}

// Heads, which many PEs share, and tails: nothing but sums of parts and numbers goes between them.
TEST(LossPass, SumsOverEverythingAreSharedByManyPes) {
  const std::string model =
      "inputs:\n  - {name: x, type: \"f32[512, 64]\"}\n  - {name: t, type: \"i32[512]\"}\n"
      "  - {name: up, type: \"f32[]\"}\nnodes:\n"
      "  - {name: loss, op: cross_entropy_loss, inputs: [x, t], attrs: {use_autogen: 1}}\n"
      "  - {name: back, op: cross_entropy_loss_gradient, inputs: [x, t, ~, up], attrs: {use_autogen: 1, "
      "wanted: "
      "[0]}}\noutputs: [loss, back]\n";
  Passed p(model);
  ASSERT_TRUE(p.ok) << p.diag.to_string();
  EXPECT_EQ(p.diag.to_string(), "");
  EXPECT_THAT(p.context.unfused, IsEmpty());
  EXPECT_FALSE(p.g.find_node("loss"));
  std::map<std::string, std::set<std::string>> groups;  // by loss
  for (const graph::Group& group : graph::groups(p.g)) {
    const graph::Node& first = p.g.node(group.nodes.front());
    const std::string from = first.from.empty() ? first.name : first.from;
    groups[from].insert(group.name);
    for (NodeId id : group.nodes) {
      EXPECT_EQ(p.g.node(id).assignment.origin, Origin::autogen) << p.g.node(id).name;
      EXPECT_EQ(p.g.node(id).assignment.whole, !first.from.empty()) << p.g.node(id).name;
    }
    for (graph::ValueId v : group.outputs) {
      const std::string name = p.g.value(v).name;
      EXPECT_TRUE(p.g.value(v).is_output || p.g.value(v).type.elements() <= 512) << name;
    }
  }
  EXPECT_EQ(groups["loss"].size(), 2u);
  // Its sum of counts is an operand of what is divided by it, if it is apart.
  EXPECT_THAT(groups["back"].size(), ::testing::AnyOf(1u, 3u));
}

TEST(LossPass, CosineEmbeddingLossIsPrimitivesWithTheReason) {
  const std::string model =
      "inputs:\n  - {name: a, type: \"f32[4, 6]\"}\n  - {name: b, type: \"f32[4, 6]\"}\n  - {name: t, type: "
      "\"f32[4]\"}\n"
      "nodes:\n  - {name: loss, op: cosine_embedding_loss, inputs: [a, b, t], attrs: {use_autogen: "
      "1}}\noutputs: [loss]\n";
  // No failure: it is never one kernel.
  Passed p(model, AutogenFailure::error);
  ASSERT_TRUE(p.ok) << p.diag.to_string();
  EXPECT_GT(p.parts("loss").size(), 5u);
  EXPECT_THAT(p.diag.to_string(),
              AllOf(HasSubstr("warning"), HasSubstr("CosineEmbeddingLoss"), HasSubstr("cycles")));
}

// A PE had too little memory for the kernel, as the ladder would say, then for what should make its sums with
// others.
TEST(LossPass, WhatCannotBeOneKernelIsPrimitivesOrAnError) {
  Passed first(text("mse", "use_autogen: 1"));
  Fallbacks known;
  ASSERT_TRUE(known.step_down(first.g, {{"loss", {"loss"}, "its kernel is too large", 0}}));
  Passed pieces(text("mse", "use_autogen: 1"), AutogenFailure::error, Policy::medium, known);
  ASSERT_TRUE(pieces.ok) << pieces.diag.to_string();
  std::vector<std::string> names;
  for (NodeId id : pieces.parts("loss")) {
    EXPECT_TRUE(pieces.g.node(id).assignment.whole);
    names.push_back(pieces.g.node(id).name);
  }
  ASSERT_GT(names.size(), 2u);
  ASSERT_TRUE(known.step_down(pieces.g, {{"loss", names, "one of them is too large", 0}}));
  Passed p(text("mse", "use_autogen: 1"), AutogenFailure::primitives, Policy::medium, known);
  ASSERT_TRUE(p.ok) << p.diag.to_string();
  EXPECT_GT(p.parts("loss").size(), 1u);
  EXPECT_EQ(p.parts("back").size(), 1u);
  EXPECT_THAT(p.diag.to_string(), AllOf(HasSubstr("g.yaml:7"), HasSubstr("warning"), HasSubstr("too large")));
  Passed refused(text("mse", "use_autogen: 1"), AutogenFailure::error, Policy::medium, known);
  EXPECT_FALSE(refused.ok);
  EXPECT_THAT(refused.diag.to_string(),
              AllOf(HasSubstr("error"), HasSubstr("too large"), HasSubstr("autogen_on_failure")));
  Passed disabled(text("mse", "use_autogen: 1"), AutogenFailure::error, Policy::disabled);
  EXPECT_FALSE(disabled.ok);
  EXPECT_THAT(disabled.diag.to_string(), HasSubstr("policy disabled generates no kernels"));
}

// Without routes between primitives it is one kernel; so is what would be hundreds of them, or it is the
// host's.
TEST(LossPass, TooManyPrimitivesAreOneKernelOrTheHosts) {
  Passed first(text("mse", ""));
  Fallbacks known;
  ASSERT_TRUE(known.step_down(first.g, {}));  // nobody is to blame
  ASSERT_TRUE(known.step_down(first.g, {}));
  Passed p(text("mse", ""), AutogenFailure::primitives, Policy::medium, known);
  ASSERT_TRUE(p.ok) << p.diag.to_string();
  for (const char* name : {"loss", "back"}) {
    ASSERT_EQ(p.parts(name).size(), 1u) << name;
    EXPECT_THAT(p.g.node(p.parts(name)[0]).assignment.reason, HasSubstr("no routes between its"));
  }
  const std::string ctc =
      "inputs:\n  - {name: x, type: \"f32[12, 3, 8]\"}\n  - {name: t, type: \"i32[3, 4]\"}\n"
      "  - {name: n, type: \"i32[3]\"}\n  - {name: m, type: \"i32[3]\"}\n"
      "nodes:\n  - {name: loss, op: ctc_loss, inputs: [x, t, n, m]}\noutputs: [loss]\n";
  Passed whole(ctc);
  ASSERT_TRUE(whole.ok) << whole.diag.to_string();
  EXPECT_EQ(whole.parts("loss").size(), 1u);
  Fallbacks refused;
  ASSERT_TRUE(refused.step_down(whole.g, {{"loss", {"loss"}, "its kernel is too large", 0}}));
  Passed host(ctc, AutogenFailure::primitives, Policy::medium, refused);
  ASSERT_TRUE(host.ok) << host.diag.to_string();
  ASSERT_EQ(host.parts("loss").size(), 1u);
  EXPECT_EQ(host.g.node(host.parts("loss")[0]).assignment.origin, Origin::host);
}

TEST(LossPass, UseAutogenAndFormulasReadBack) {
  Diag diag;
  const std::string model =
      "inputs:\n  - {name: x, type: \"f32[4, 6]\"}\n  - {name: t, type: \"f32[4, 6]\"}\n"
      "nodes:\n  - {name: loss, op: custom_loss, inputs: [x, t], attrs: {use_autogen: 1, inputs: \"a b\", "
      "args: k, "
      "values: [2.5], expr: \"d = a - b\\nk * \\\"x\\\" * d^2\"}}\noutputs: [loss]\n";
  std::string fixed = model;
  fixed.replace(fixed.find(" * \\\"x\\\""), 8, "");
  auto g = frontend::import_yaml(fixed, "g.yaml", ".", diag);
  ASSERT_TRUE(g) << diag.to_string();
  auto again = frontend::import_yaml(graph::graph_text(*g, "").yaml, "g.yaml", ".", diag);
  ASSERT_TRUE(again) << diag.to_string();
  EXPECT_EQ(again->node(*again->find_node("loss")).attrs, g->node(*g->find_node("loss")).attrs);
  // A text is no number to compute with.
  EXPECT_FALSE(frontend::import_yaml(model, "g.yaml", ".", diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("line 2, column"));
}

}  // namespace
}  // namespace cs::passes

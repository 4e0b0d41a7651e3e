// `if` and `repeat` in graph texts.
#include "compiler/graph/control.h"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/frontend/frontend.h"

namespace cs::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A graph of f32[4]: x comes in, these nodes, this goes out.
struct Text {
  Diag diag;
  std::optional<Graph> g;
  Text(const std::string& nodes, const std::string& output, const HostValues& given = {}) {
    const std::string text =
        "graph: g\nvalues: {deep: true, layers: 3, none: 0}\ninputs:\n  - {name: x, type: \"f32[4]\"}\n"
        "constants:\n  - {name: half, type: \"f32[]\", value: [0.5]}\n  - {name: pair, type: \"f32[2]\", "
        "value: [1, 2]}\n"
        "nodes:\n" +
        nodes + "outputs: [" + output + "]\n";
    g = frontend::import_yaml(text, "g.yaml", ".", diag, {.dims = given});
  }
  // "relu_0 = relu(x)" of each node.
  std::vector<std::string> nodes() const {
    std::vector<std::string> lines;
    if (!g) return {diag.to_string()};
    for (const NodeId id : g->topological()) {
      std::vector<std::string> operands;
      for (const ValueId v : g->node(id).inputs) operands.push_back(g->value(v).name);
      lines.push_back(
          fmt::format("{} = {}({})", g->node(id).name, g->node(id).op, fmt::join(operands, ", ")));
    }
    return lines;
  }
  std::string output() const { return g ? g->value(g->outputs[0]).name : diag.to_string(); }
};

std::string branch(const std::string& condition) {
  return "  - if: " + condition +
         "\n    then: [{name: h, op: relu, inputs: [x]}]\n    else: [{name: h, op: tanh, inputs: [x]}]\n";
}

TEST(Control, TakesTheBranchOfItsCondition) {
  const std::string yes = "h = relu(x)", no = "h = tanh(x)";
  for (const char* condition : {"true", "1", "deep", "layers", "not none", "layers > 2", "layers == 3",
                                "half < 1", "2 != layers", "layers >= 3", "half <= 0.5"})
    EXPECT_THAT(Text(branch(condition), "h").nodes(), ElementsAre(yes)) << condition;
  for (const char* condition : {"false", "0", "none", "not deep", "layers < 3", "layers != 3"})
    EXPECT_THAT(Text(branch(condition), "h").nodes(), ElementsAre(no)) << condition;
  EXPECT_THAT(Text(branch("layers > 2"), "h", {{"layers", 2}}).nodes(), ElementsAre(no));
}

TEST(Control, WithoutElseThereIsNothing) {
  EXPECT_THAT(
      Text("  - {name: h, op: relu, inputs: [x]}\n  - if: none\n    then: [{name: q, op: nonsense}]\n", "h")
          .nodes(),
      ElementsAre("h = relu(x)"));
}

TEST(Control, WhatIsComputedIsNoCondition) {
  const std::string nodes = "  - {name: s, op: reduce_sum, inputs: [x]}\n";
  for (const char* condition : {"s", "x", "pair", "s > 0"}) {
    const Text t(nodes + branch(condition), "h");
    EXPECT_FALSE(t.g);
    EXPECT_THAT(t.diag.to_string(), HasSubstr("g.yaml:10:")) << condition;
    EXPECT_THAT(t.diag.to_string(), HasSubstr("has no value when the graph is read")) << condition;
  }
  EXPECT_THAT(Text(branch("layer"), "h").diag.to_string(), HasSubstr("did you mean 'layers'?"));
  EXPECT_THAT(Text(branch("deep and none"), "h").diag.to_string(),
              HasSubstr("'deep and none' is no condition"));
  EXPECT_THAT(Text("  - {if: deep}\n", "x").diag.to_string(), HasSubstr("'if' needs 'then'"));
}

constexpr const char* kLoop =
    "  - repeat: layers\n    next: {x: r}\n    nodes: [{name: r, op: relu, inputs: [x]}]\n";

TEST(Control, CopiesFollowEachOther) {
  const Text t(kLoop, "r");
  EXPECT_THAT(t.nodes(), ElementsAre("r_0 = relu(x)", "r_1 = relu(r_0)", "r_2 = relu(r_1)"));
  EXPECT_EQ(t.output(), "r_2");
  EXPECT_THAT(Text(kLoop, "r", {{"layers", 1}}).nodes(), ElementsAre("r_0 = relu(x)"));
  // With no copies r is x.
  const std::string behind = "  - {name: y, op: tanh, inputs: [r]}\n";
  EXPECT_THAT(Text(kLoop + behind, "y", {{"layers", 0}}).nodes(), ElementsAre("y = tanh(x)"));
}

TEST(Control, WithoutNextCopiesAreBesideEachOther) {
  EXPECT_THAT(Text("  - repeat: 2\n    nodes:\n      - {name: b, op: tanh, inputs: [a]}\n"
                   "      - {name: a, op: relu, inputs: [x]}\n",
                   "b")
                  .nodes(),
              ElementsAre("a_0 = relu(x)", "b_0 = tanh(a_0)", "a_1 = relu(x)", "b_1 = tanh(a_1)"));
}

TEST(Control, OneWithinTheOther) {
  const Text t(
      "  - repeat: 2\n    next: {x: out}\n    nodes:\n"
      "      - repeat: 2\n        next: {x: r}\n        nodes: [{name: r, op: relu, inputs: [x]}]\n"
      "      - if: deep\n        then: [{name: out, op: tanh, inputs: [r]}]\n",
      "out");
  EXPECT_THAT(t.nodes(), ElementsAre("r_0_0 = relu(x)", "r_0_1 = relu(r_0_0)", "out_0 = tanh(r_0_1)",
                                     "r_1_0 = relu(out_0)", "r_1_1 = relu(r_1_0)", "out_1 = tanh(r_1_1)"));
  EXPECT_EQ(t.output(), "out_1");
}

TEST(Control, SeveralValuesChangePlaces) {
  const Text t(
      "  - {name: y, op: tanh, inputs: [x]}\n  - repeat: 2\n    next: {x: y, y: z}\n"
      "    nodes: [{name: z, op: sub, inputs: [x, y]}]\n",
      "z");
  EXPECT_THAT(t.nodes(), ElementsAre("y = tanh(x)", "z_0 = sub(x, y)", "z_1 = sub(y, z_0)"));
}

TEST(Control, SaysWhatIsWrongWithCopies) {
  const auto wrong = [](const std::string& nodes) { return Text(nodes, "x").diag.to_string(); };
  const std::string body = "    nodes: [{name: r, op: relu, inputs: [x]}]\n";
  EXPECT_THAT(wrong("  - repeat: -1\n" + body),
              HasSubstr("'repeat' is -1, must be a whole number from 0 to 10000"));
  EXPECT_THAT(wrong("  - repeat: 1.5\n" + body), HasSubstr("'repeat' is 1.5"));
  EXPECT_THAT(wrong("  - repeat: 1e9\n" + body), HasSubstr("'repeat' is"));
  EXPECT_THAT(wrong("  - repeat: x\n" + body), HasSubstr("'x' has no value when the graph is read"));
  EXPECT_THAT(wrong("  - {repeat: 2}\n"), HasSubstr("'repeat' needs 'nodes'"));
  EXPECT_THAT(wrong("  - repeat: 2\n    nexxt: {x: r}\n" + body), HasSubstr("did you mean 'next'?"));
  EXPECT_THAT(wrong("  - repeat: 2\n    next: {r: x}\n" + body),
              HasSubstr("'r' is one of the copy's own nodes"));
  EXPECT_THAT(wrong("  - repeat: 10000\n    nodes:\n      - repeat: 10000\n        nodes: []\n"),
              HasSubstr("more than 100000 nodes or copies"));
  EXPECT_THAT(Text(kLoop, "r", {{"layer", 4}}).diag.to_string(), HasSubstr("did you mean 'layers'?"));
}

// Names that stand for each other in a circle have no value.
TEST(Control, ACircleOfNamesEnds) {
  const std::string empty =
      "  - repeat: 0\n    next: {a: b}\n    nodes: []\n  - repeat: 0\n    next: {b: a}\n    nodes: []\n";
  EXPECT_THAT(Text(empty, "a").diag.to_string(), HasSubstr("there is no value 'a'"));
}

TEST(Control, TellsWhatWasTaken) {
  Diag diag;
  const auto doc = YamlDoc::parse_text(
      "values: {n: 2}\nnodes:\n  - repeat: n\n    nodes:\n      - if: n > 5\n        then: []\n"
      "      - {name: r, op: relu, inputs: [x]}\n",
      "g.yaml", diag);
  ASSERT_TRUE(doc);
  Control control(doc->root(), {}, diag);
  EXPECT_EQ(control.resolve(*doc->root().find("nodes")).size(), 2u);
  EXPECT_THAT(control.taken(),
              ElementsAre("line 3: repeat n: 2 copies: 2 nodes", "line 5: if n > 5 is false: 0 nodes"));
}

}  // namespace
}  // namespace cs::graph

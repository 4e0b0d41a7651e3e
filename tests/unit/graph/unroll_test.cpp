// Recurrences step by step: the graph computes what the layer as a whole computes by its own definition, in both
// directions, both layouts, with and without the optional operands; and no layer of several steps is left.
// Without being asked, layers are unrolled where that is faster and has room.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/frontend/frontend.h"
#include "compiler/passes/passes.h"
#include "tests/unit/graph/interpret.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;

constexpr int kSteps = 5, kBatch = 2, kInput = 3, kHidden = 4;

struct Case {
  std::string name, op, direction = "forward", attrs;
  bool batch_first = false, states = false;
};

// Every operand is an input of the graph.
std::string yaml_of(const Case& c) {
  const int gates = c.op == "rnn" ? 1 : c.op == "gru" ? 3 : 4, ways = c.direction == "bidirectional" ? 2 : 1;
  std::string inputs, names, results = "y, h";
  const auto add = [&](const std::string& name, const std::vector<int>& shape) {
    inputs += fmt::format("  - {{name: {}, type: \"f32[{}]\"}}\n", name, fmt::join(shape, ", "));
    names += (names.empty() ? "" : ", ") + name;
  };
  const std::vector<int> state =
      c.batch_first ? std::vector{kBatch, ways, kHidden} : std::vector{ways, kBatch, kHidden};
  add("x", c.batch_first ? std::vector{kBatch, kSteps, kInput} : std::vector{kSteps, kBatch, kInput});
  add("w", {ways, gates * kHidden, kInput});
  add("r", {ways, gates * kHidden, kHidden});
  if (c.states) {
    add("b", {ways, 2 * gates * kHidden});
    names += ", ~";
    add("h0", state);
    if (c.op == "lstm") add("c0", state);
    if (c.op == "lstm") add("p", {ways, 3 * kHidden});
  }
  if (c.op == "lstm") results += ", c";
  return "inputs:\n" + inputs +
         fmt::format("nodes:\n  - {{name: layer, op: {}, inputs: [{}], outputs: [{}], attrs: {{direction: {}, layout: "
                     "{}{}{}}}}}\noutputs: [{}]\n",
                     c.op, names, results, c.direction, c.batch_first ? 1 : 0, c.attrs.empty() ? "" : ", ", c.attrs,
                     results);
}

ops::Tensor numbers(const ops::TensorType& type, uint32_t state) {
  ops::Tensor t(type);
  for (int64_t i = 0; i < t.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    t.set(i, double(state >> 20) / 2048 - 1);
  }
  return t;
}

bool unroll(Graph& g, int64_t most, Diag& diag) {
  const std::optional<Machine> machine = load_machine("wse2", diag);
  PassContext context{*machine, Policy::medium, {}, diag, {}, HostOps::allow};
  context.unroll = most;
  return unroll_recurrences(g, context) && graph::verify(g, diag);
}

class Unrolled : public ::testing::TestWithParam<Case> {};

TEST_P(Unrolled, TheGraphComputesTheSame) {
  Diag diag;
  std::optional<Graph> g = frontend::import_yaml(yaml_of(GetParam()), "g.yaml", ".", diag);
  ASSERT_TRUE(g) << diag.to_string() << yaml_of(GetParam());
  std::map<std::string, ops::Tensor> values;
  for (graph::ValueId v : g->inputs)
    values.emplace(g->value(v).name, numbers(g->value(v).type, uint32_t(values.size() + 1)));
  const auto before = graph::interpret(*g, values);
  ASSERT_TRUE(unroll(*g, kSteps, diag)) << diag.to_string();
  int layers = 0;
  for (NodeId id : g->nodes()) {
    if (g->node(id).op != GetParam().op) continue;
    EXPECT_EQ(steps_of_recurrence(*g, id), 1);
    ++layers;
  }
  EXPECT_EQ(layers, kSteps * (GetParam().direction == "bidirectional" ? 2 : 1));
  const auto after = graph::interpret(*g, values);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, want] : before) {
    const ops::Tensor& have = after.at(name);
    ASSERT_EQ(want.type, have.type) << name;
    for (int64_t i = 0; i < want.elements(); ++i) EXPECT_NEAR(want.get(i), have.get(i), 1e-6) << name << " " << i;
  }
}

const Case kCases[] = {
    {"rnn", "rnn"},
    {"rnn_backward", "rnn", "reverse", "", false, true},
    {"rnn_both_batch_first", "rnn", "bidirectional", "activations: \"Tanh Relu\"", true, true},
    {"gru", "gru", "forward", "clip: 0.75", false, true},
    {"gru_late_reset_both", "gru", "bidirectional", "linear_before_reset: 1", false, true},
    {"lstm", "lstm"},
    {"lstm_peepholes_both_batch_first", "lstm", "bidirectional", "", true, true},
    {"lstm_other_activations", "lstm", "bidirectional",
     "activations: \"Sigmoid Tanh Tanh HardSigmoid Relu Tanh\", input_forget: 1", false, true},
};

INSTANTIATE_TEST_SUITE_P(Layers, Unrolled, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Unroll, LongerLayersStayWhole) {
  Diag diag;
  std::optional<Graph> g = frontend::import_yaml(yaml_of(kCases[0]), "g.yaml", ".", diag);
  ASSERT_TRUE(g && unroll(*g, kSteps - 1, diag)) << diag.to_string();
  ASSERT_EQ(g->nodes().size(), 1u);
  EXPECT_EQ(steps_of_recurrence(*g, g->nodes()[0]), kSteps);
}

// The layer of eight steps with eight inputs and ten states: each has a kernel, or one has them all.
int layers(PassContext& context) {
  auto g = frontend::load_model(std::string(CS_SOURCE_DIR) + "/tests/networks/gru/model.onnx", {}, context.diag);
  EXPECT_TRUE(g && infer_shapes(*g, context) && unroll_recurrences(*g, context)) << context.diag.to_string();
  if (!g) return 0;
  int count = 0;
  for (NodeId id : g->nodes()) count += g->node(id).op == "gru";
  return count;
}

TEST(Unroll, WhereItIsFasterAndHasRoom) {
  Diag diag;
  const std::optional<Machine> machine = load_machine("wse2", diag);
  PassContext chosen{*machine, Policy::medium, {}, diag};
  EXPECT_EQ(layers(chosen), 8);
  ASSERT_EQ(chosen.unrolled.size(), 1u);
  EXPECT_NE(chosen.unrolled.begin()->second.find("8 steps as kernels, beneficial by "), std::string::npos)
      << chosen.unrolled.begin()->second;

  PassContext forbidden{*machine, Policy::medium, {}, diag};
  forbidden.unroll = 0;
  EXPECT_EQ(layers(forbidden), 1);
  PassContext disabled{*machine, Policy::disabled, {}, diag};
  EXPECT_EQ(layers(disabled), 1);
  PassContext small{*machine, Policy::medium, {}, diag};  // fewer PEs than steps
  small.map.fabric_width = small.map.fabric_height = 2;
  EXPECT_EQ(layers(small), 1);
}

// A step that no rectangle holds is no reason for the host: the layer becomes one kernel again.
TEST(Unroll, AStepThatDoesNotFitMakesTheLayerWhole) {
  Diag diag;
  const std::optional<Machine> machine = load_machine("wse2", diag);
  PassContext context{*machine, Policy::medium, {}, diag};
  std::optional<Graph> g =
      frontend::load_model(std::string(CS_SOURCE_DIR) + "/tests/networks/gru/model.onnx", {}, diag);
  ASSERT_TRUE(g && infer_shapes(*g, context) && unroll_recurrences(*g, context)) << diag.to_string();
  std::string step;
  for (NodeId id : g->nodes()) step = g->node(id).op == "gru" ? g->node(id).name : step;
  Fallbacks fallbacks;
  ASSERT_TRUE(fallbacks.step_down(*g, {{"kernel", {step}, "no room", 0}}, context.unrolled));
  PassContext again{*machine, Policy::medium, {}, diag};
  again.fallbacks = fallbacks;
  EXPECT_EQ(layers(again), 1);

  // Streams without a way: no kernel is to blame.
  Fallbacks crowded;
  ASSERT_TRUE(crowded.step_down(*g, {}, context.unrolled));
  EXPECT_TRUE(crowded.whole(context.unrolled.begin()->first));
  EXPECT_FALSE(crowded.step_down(*g, {}, {}));
}

}  // namespace
}  // namespace cs::passes

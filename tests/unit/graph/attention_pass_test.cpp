// Primitives of attention become one operator, which has the values of the primitives.
#include <gmock/gmock.h>

#include "compiler/graph/graph_yaml.h"
#include "compiler/passes/find_attention.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {
namespace {

using graph::NodeId;

// So many operators `attention` are found, and values stay.
const graph::Node* find(Bench& s, size_t count) {
  const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
  s.context.rewrites.attention = true;
  EXPECT_TRUE(s.run(find_attention)) << s.diag.to_string();
  const graph::Node* found = nullptr;
  size_t n = 0;
  for (const NodeId id : s.g.nodes())
    if (s.g.node(id).op == "attention") found = &s.g.node(id), ++n;
  EXPECT_EQ(n, count);
  const auto after = graph::interpret(s.g, graph::inputs_of(s.g));
  for (const auto& [name, tensor] : before)
    for (int64_t i = 0; i < tensor.elements(); ++i)
      EXPECT_NEAR(tensor.get(i), after.at(name).get(i), 1e-6) << name;
  return found;
}

const char* kHeads =
    "inputs:\n  - {name: q, type: \"f32[1, 2, 3, 4]\", sample_dim: 0}\n"
    "  - {name: k, type: \"f32[1, 2, 5, 4]\", sample_dim: 0}\n"
    "  - {name: v, type: \"f32[1, 2, 5, 4]\", sample_dim: 0}\n";
const char* kEnd =
    "  - {name: w, op: softmax, inputs: [s], attrs: {axis: -1}}\n"
    "  - {name: o, op: matmul, inputs: [w, v]}\n  - {name: y, op: neg, inputs: [o]}\noutputs: [y]\n";

TEST(FindAttention, FactorsGoIntoTheScale) {
  Bench s(std::string(kHeads) +
          "constants:\n  - {name: half, type: \"f32[]\", value: [0.5]}\nnodes:\n"
          "  - {name: a, op: mul, inputs: [q, half]}\n"
          "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
          "  - {name: p, op: matmul, inputs: [a, kt]}\n  - {name: s, op: div, inputs: [p, half]}\n" +
          kEnd);
  const graph::Node* n = find(s, 1);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->inputs.size(), 3u);
  EXPECT_EQ(ops::attr_real(*ops::find_op("attention"), n->attrs, "scale"), 1);
}

// Of all scores, or of keys alone, whichever query.
TEST(FindAttention, AMaskThatIsConstantIsAnOperand) {
  for (const char* mask : {"f32[1, 1, 3, 5]\", value: [0, 0, 0, -1e9, -1e9, 0, 0, 0, 0, -1e9, 0, 0, 0, 0, 0]",
                           "f32[5]\", value: [0, 0, 0, -1e9, -1e9]"}) {
    Bench s(std::string(kHeads) + "constants:\n  - {name: m, type: \"" + mask +
            "}\nnodes:\n"
            "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
            "  - {name: p, op: matmul, inputs: [q, kt]}\n  - {name: s, op: add, inputs: [p, m]}\n" +
            kEnd);
    const graph::Node* n = find(s, 1);
    ASSERT_NE(n, nullptr);
    ASSERT_EQ(n->inputs.size(), 4u);
    EXPECT_EQ(s.g.value(n->inputs[3]).type.shape, (ops::Shape{3, 5}));
  }
}

// As of positions: one matrix for each head, and keys behind a query hidden beside it.
TEST(FindAttention, MasksOfAllHeadsAreAdded) {
  Bench s(
      std::string(kHeads) +
      "constants:\n  - {name: bias, type: \"f32[2, 3, 5]\", value: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, "
      "3, 4, "
      "9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5]}\n"
      "  - {name: m, type: \"f32[3, 5]\", value: [0, -1e9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}\nnodes:\n"
      "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
      "  - {name: p, op: matmul, inputs: [q, kt]}\n  - {name: b, op: add, inputs: [p, bias]}\n"
      "  - {name: s, op: add, inputs: [b, m]}\n" +
      kEnd);
  const graph::Node* n = find(s, 1);
  ASSERT_NE(n, nullptr);
  ASSERT_EQ(n->inputs.size(), 4u);
  EXPECT_EQ(s.g.value(n->inputs[3]).type.shape, (ops::Shape{1, 2, 3, 5}));
}

// A row without any score that is left is the mean of all values where scores are chosen, and not where they
// are added.
TEST(FindAttention, RowsThatAreHiddenByChoiceStay) {
  Bench s(std::string(kHeads) +
          "constants:\n  - {name: hide, type: \"bool[3, 5]\", value: [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, "
          "0, 0, 0]}\n"
          "  - {name: low, type: \"f32[]\", value: [-1e4]}\nnodes:\n"
          "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
          "  - {name: p, op: matmul, inputs: [q, kt]}\n  - {name: s, op: where, inputs: [hide, low, p]}\n" +
          kEnd);
  find(s, 0);
}

// Exports turn keys as they take the heads apart: the two transposes become one.
TEST(FindAttention, KeysByColumnsAreTurned) {
  Bench s(
      "inputs:\n  - {name: q, type: \"f32[1, 2, 3, 4]\", sample_dim: 0}\n"
      "  - {name: k, type: \"f32[1, 5, 2, 4]\", sample_dim: 0}\n"
      "  - {name: v, type: \"f32[1, 2, 5, 4]\", sample_dim: 0}\nnodes:\n"
      "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 2, 3, 1]}}\n"
      "  - {name: s, op: matmul, inputs: [q, kt]}\n" +
      std::string(kEnd));
  const graph::Node* n = find(s, 1);
  ASSERT_NE(n, nullptr);
  const graph::Node& keys = s.g.node(s.g.value(n->inputs[1]).producer);
  EXPECT_EQ(keys.op, "transpose");
  EXPECT_EQ(s.g.value(keys.inputs[0]).name, "k");
}

// A mask that arrives, and scores that go elsewhere than into a softmax of keys.
TEST(FindAttention, OthersStay) {
  Bench masked(std::string(kHeads) +
               "  - {name: m, type: \"f32[1, 1, 3, 5]\", sample_dim: 0}\nnodes:\n"
               "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
               "  - {name: p, op: matmul, inputs: [q, kt]}\n  - {name: s, op: add, inputs: [p, m]}\n" +
               kEnd);
  find(masked, 0);
  Bench other(
      std::string(kHeads) +
      "nodes:\n"
      "  - {name: kt, op: transpose, inputs: [k], attrs: {perm: [0, 1, 3, 2]}}\n"
      "  - {name: s, op: matmul, inputs: [q, kt]}\n"
      "  - {name: w, op: softmax, inputs: [s], attrs: {axis: 2}}\n"
      "  - {name: o, op: matmul, inputs: [w, v]}\n  - {name: y, op: neg, inputs: [o]}\noutputs: [y]\n");
  find(other, 0);
}

}  // namespace
}  // namespace cs::passes

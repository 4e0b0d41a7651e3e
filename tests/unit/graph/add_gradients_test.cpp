// Gradients in graphs: values with several users, several outputs, what an output does not depend on.
#include <gmock/gmock.h>

#include "compiler/graph/gradients.h"
#include "interpret.h"
#include "tests/unit/graph/row_cases.h"

namespace cs::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DataType kF32 = DataType::f32;

ValueId node(Graph& g, const std::string& op, std::vector<ValueId> inputs, Attrs attrs = {}) {
  Node n;
  n.name = g.fresh_name(op);
  n.op = op;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  n.where = "test: " + op;
  const NodeId id = g.add_node(std::move(n));
  const ValueId y = g.add_result(id, g.fresh_name(op + "_y"));
  Diag diag;
  EXPECT_TRUE(infer_node(g, id, diag)) << diag.to_string();
  return y;
}

size_t count(const Graph& g, const std::string& op) {
  size_t n = 0;
  for (NodeId id : g.nodes()) n += g.node(id).op == op ? 1 : 0;
  return n;
}

// The gradients as outputs; one that is an operand or a constant goes through a copy.
void add(Graph& g, const std::vector<std::pair<ValueId, ValueId>>& outputs,
         const std::vector<ValueId>& wanted) {
  std::vector<ValueId> gradients;
  Diag diag;
  ASSERT_TRUE(add_gradients(g, outputs, wanted, gradients, diag)) << diag.to_string();
  ASSERT_EQ(gradients.size(), wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) {
    const ValueId copy = node(g, "identity", {gradients[k]});
    g.rename(copy, "d_" + g.value(wanted[k]).name);
    g.set_output(copy);
  }
  ASSERT_TRUE(verify(g, diag)) << diag.to_string();
}

std::vector<float> at(const std::map<std::string, ops::Tensor>& values, const std::string& name) {
  return values.at(name).to_floats();
}

// y = w (w x): dy/dw = 2 w x, dy/dx = w².
TEST(AddGradients, GradientsOfASharedWeightMeetOnce) {
  Graph g;
  const ValueId x = g.add_input("x", {kF32, {2}}), up = g.add_input("up", {kF32, {2}});
  const ValueId w = g.add_constant("w", ops::floats({2}, {3, 5}));
  const ValueId y = node(g, "mul", {w, node(g, "mul", {w, x})});
  g.set_output(y);
  add(g, {{y, up}}, {w, x});
  EXPECT_EQ(count(g, "add"), 1u);
  const auto out = interpret(g, {{"x", ops::floats({2}, {1, 2})}, {"up", ops::floats({2}, {1, 10})}});
  EXPECT_THAT(at(out, "d_w"), ElementsAre(2 * 3 * 1, 10 * 2 * 5 * 2));
  EXPECT_THAT(at(out, "d_x"), ElementsAre(9, 10 * 25));
}

// y = x², z = 3 x with gradients 1 and 100 from above: 2 x + 300. An output without one counts for nothing.
TEST(AddGradients, SeveralOutputsAreSummedAndOthersDoNotCount) {
  Graph g;
  const ValueId x = g.add_input("x", {kF32, {2}});
  const ValueId up_y = g.add_input("up_y", {kF32, {2}}), up_z = g.add_input("up_z", {kF32, {2}});
  const ValueId y = node(g, "square", {x});
  const ValueId z = node(g, "mul", {x, g.add_constant("three", ops::floats({}, {3}))});
  const ValueId other = node(g, "exp", {x});
  for (ValueId v : {y, z, other}) g.set_output(v);
  add(g, {{y, up_y}, {z, up_z}}, {x});
  const auto out = interpret(g, {{"x", ops::floats({2}, {1, 2})},
                                 {"up_y", ops::floats({2}, {1, 1})},
                                 {"up_z", ops::floats({2}, {100, 100})}});
  EXPECT_THAT(at(out, "d_x"), ElementsAre(302, 304));
}

TEST(AddGradients, WhatAnOutputDoesNotDependOnHasZeros) {
  Graph g;
  const ValueId x = g.add_input("x", {kF32, {2}}), u = g.add_input("u", {kF32, {3}}),
                up = g.add_input("up", {kF32, {2}});
  const ValueId y = node(g, "floor", {x});
  g.set_output(y);
  add(g, {{y, up}}, {x, u});
  const auto out = interpret(g, {{"x", ops::floats({2}, {1, 2})},
                                 {"u", ops::floats({3}, {1, 2, 3})},
                                 {"up", ops::floats({2}, {1, 1})}});
  EXPECT_THAT(at(out, "d_x"), ElementsAre(0, 0));
  EXPECT_THAT(at(out, "d_u"), ElementsAre(0, 0, 0));
}

// A part of a split that nobody uses: its elements have no gradient.
TEST(AddGradients, AResultThatNobodyUsesIsZeroAbove) {
  Graph g;
  const ValueId x = g.add_input("x", {kF32, {3}}), up = g.add_input("up", {kF32, {1}});
  Node split;
  split.name = "split";
  split.op = "split";
  split.inputs = {x};
  split.attrs = {{"split", std::vector<int64_t>{1, 1, 1}}};
  const NodeId id = g.add_node(std::move(split));
  std::vector<ValueId> parts;
  for (const char* name : {"a", "b", "c"}) parts.push_back(g.add_result(id, name));
  Diag diag;
  ASSERT_TRUE(infer_node(g, id, diag)) << diag.to_string();
  const ValueId y = node(g, "square", {parts[1]});
  g.set_output(y);
  add(g, {{y, up}}, {x});
  const auto out = interpret(g, {{"x", ops::floats({3}, {1, 2, 3})}, {"up", ops::floats({1}, {10})}});
  EXPECT_THAT(at(out, "d_x"), ElementsAre(0, 10 * 2 * 2, 0));
}

TEST(AddGradients, ErrorsNameTheNodeAndTheReason) {
  Graph g;
  const ValueId x = g.add_input("x", {kF32, {2, 2}}), up = g.add_input("up", {kF32, {}});
  const ValueId y = node(g, "det", {x});
  g.set_output(y);
  std::vector<ValueId> gradients;
  Diag diag;
  const std::pair<ValueId, ValueId> output{y, up};
  EXPECT_FALSE(add_gradients(g, std::span(&output, 1), std::span(&x, 1), gradients, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("test: det"));
  EXPECT_THAT(diag.to_string(), HasSubstr("no inverse"));
  Diag other;
  const std::pair<ValueId, ValueId> wrong{y, x};
  EXPECT_FALSE(add_gradients(g, std::span(&wrong, 1), std::span(&x, 1), gradients, other));
  EXPECT_THAT(other.to_string(), HasSubstr("f32[2, 2]"));
}

}  // namespace
}  // namespace cs::graph

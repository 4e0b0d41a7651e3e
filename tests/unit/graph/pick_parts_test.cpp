// Who takes a few steps of what was put together takes them from the parts, and gets the same.
#include "compiler/passes/pick_parts.h"

#include <gmock/gmock.h>

#include "compiler/graph/graph_yaml.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;

// Parts of 3, 1 and 4 steps of 16 elements, the first two of which are joined before: `all` has 8 steps.
const std::string kParts =
    "inputs:\n"
    "  - {name: a, type: \"f32[1, 3, 16]\"}\n"
    "  - {name: b, type: \"f32[1, 1, 16]\"}\n"
    "  - {name: c, type: \"f32[1, 4, 16]\"}\n";
const std::string kJoined =
    "nodes:\n"
    "  - {name: ab, op: concat, inputs: [a, b], attrs: {axis: 1}}\n"
    "  - {name: all, op: concat, inputs: [ab, c], attrs: {axis: -2}}\n";

ops::Tensor integers(const ops::TensorType& type, const std::vector<int64_t>& values) {
  ops::Tensor t(type);
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, double(values[size_t(i)]));
  return t;
}

struct Case {
  std::string places;  // type of the input `at`; none: there is no such input
  std::vector<int64_t> at;
  std::string taker;  // of `all`
};

// How many operators of this kind take from `all` when the pass is done; values are the same.
size_t takers(const Case& c) {
  std::string text = kParts;
  if (!c.places.empty()) text += "  - {name: at, type: \"" + c.places + "\"}\n";
  Bench s(text + kJoined + "  - {name: y, " + c.taker + "}\noutputs: [y]\n");
  std::map<std::string, ops::Tensor> in;
  for (const graph::ValueId v : s.g.inputs) {
    const graph::Value& value = s.g.value(v);
    ops::Tensor x(value.type);
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, double(i % 29) / 4 + double(value.name[0]));
    in.emplace(value.name, value.name == "at" ? integers(value.type, c.at) : std::move(x));
  }
  const auto before = graph::interpret(s.g, in);
  const graph::ValueId all = s.g.node(*s.g.find_node("all")).outputs[0];
  EXPECT_TRUE(pick_from_parts(s.g, {all}, s.diag)) << s.diag.to_string();
  EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
  EXPECT_EQ(graph::interpret(s.g, in), before) << c.taker;
  const auto left = s.g.find_node("all");
  return left ? s.g.value(s.g.node(*left).outputs[0]).users.size() : 0;
}

TEST(PickParts, GathersOfAFewStepsAreOfEachPart) {
  const std::string gather = "op: gather, inputs: [all, at], attrs: {axis: 1}";
  // The first and last steps of every part, from the beginning and from the end.
  EXPECT_EQ(takers({"i32[2]", {0, 7}, gather}), 0u);
  EXPECT_EQ(takers({"i32[2]", {2, 3}, gather}), 0u);
  EXPECT_EQ(takers({"i32[2]", {4, -8}, gather}), 0u);
  EXPECT_EQ(takers({"i32[1, 2]", {-1, -5}, "op: gather, inputs: [all, at], attrs: {axis: -2}"}), 0u);
  const std::string nd = "op: gather_nd, inputs: [all, at], attrs: {batch_dims: 1}";
  EXPECT_EQ(takers({"i32[1, 2, 1]", {3, 6}, nd}), 0u);
  EXPECT_EQ(takers({"i32[1, 2, 1]", {-6, 0}, nd}), 0u);
}

// Three parts of which each would give 3 of 8 steps are more words than the whole; elements of steps lie in
// no part alone, and pairs of indices say more than the step.
TEST(PickParts, OthersTakeTheWhole) {
  EXPECT_EQ(takers({"i32[3]", {0, 7, 4}, "op: gather, inputs: [all, at], attrs: {axis: 1}"}), 1u);
  EXPECT_EQ(takers({"i32[2]", {0, 7}, "op: gather, inputs: [all, at], attrs: {axis: 2}"}), 1u);
  EXPECT_EQ(
      takers({"i32[1, 2, 2]", {0, 7, 5, 15}, "op: gather_nd, inputs: [all, at], attrs: {batch_dims: 1}"}),
      1u);
  EXPECT_EQ(takers({"", {}, "op: tanh, inputs: [all]"}), 1u);
}

TEST(PickParts, SlicesThatLieInOnePartAreOfIt) {
  const auto slice = [](const std::string& attrs) {
    return takers({"", {}, "op: slice, inputs: [all], attrs: {" + attrs + "}"});
  };
  EXPECT_EQ(slice("starts: [0], ends: [3], axes: [1]"), 0u);
  EXPECT_EQ(slice("starts: [-5], ends: [-4], axes: [-2]"), 0u) << "the part of one step";
  EXPECT_EQ(slice("starts: [5, 2], ends: [1000, 9], axes: [1, 2]"), 0u);
  EXPECT_EQ(slice("starts: [2], ends: [4], axes: [1]"), 1u) << "of two parts";
  EXPECT_EQ(slice("starts: [2], ends: [9], axes: [2]"), 1u) << "of all parts";
  EXPECT_EQ(slice("starts: [4], ends: [8], axes: [1], steps: [2]"), 1u);
}

}  // namespace
}  // namespace cs::passes

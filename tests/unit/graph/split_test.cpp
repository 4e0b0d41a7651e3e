// Operators in parts: the graph computes what it computed before, for extents with and without divisors.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/frontend/frontend.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/split.h"
#include "tests/unit/graph/interpret.h"

namespace cs::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using ::testing::Each;
using ::testing::Le;

using Split = bool (*)(Graph&, NodeId, int64_t, Diag&);

struct Case {
  std::string name, input, op, attrs;
  Split split;
};

ops::Tensor numbers(const ops::TensorType& type) {
  ops::Tensor t(type);
  uint32_t state = 7;
  for (int64_t i = 0; i < t.elements(); ++i) {
    state = state * 1664525 + 1013904223;
    t.set(i, double(state >> 20) / 1024 - 2);  // some are equal
  }
  return t;
}

std::optional<Graph> graph_of(const Case& c, Diag& diag) {
  std::string constants;
  if (c.op == "conv") constants = "constants:\n  - {name: w, type: \"f32[4, 6, 2, 1]\", value: [";
  if (c.op == "conv") {
    for (int i = 0; i < 48; ++i) constants += std::to_string(i % 7 - 3) + (i < 47 ? ", " : "]}\n");
    constants += "  - {name: b, type: \"f32[4]\", value: [1, 2, 3, 4]}\n";
  }
  const std::string inputs = c.op == "conv" ? "x, w, b" : c.op == "matmul" ? "x, t" : "x";
  return frontend::import_yaml(
      "inputs:\n  - {name: x, type: \"" + c.input + "\"}\n" + constants + "nodes:\n" +
          (c.op == "matmul" ? "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [0, 2, 1]}}\n" : "") +
          "  - {name: y, op: " + c.op + ", inputs: [" + inputs + "], outputs: [y" +
          (c.op == "top_k" ? ", i" : "") + "], attrs: {" + c.attrs + "}}\noutputs: [y" +
          (c.op == "top_k" ? ", i" : "") + "]\n",
      "g.yaml", ".", diag);
}

class InParts : public ::testing::TestWithParam<Case> {};

TEST_P(InParts, TheGraphComputesTheSame) {
  Diag diag;
  std::optional<Graph> g = graph_of(GetParam(), diag);
  ASSERT_TRUE(g) << diag.to_string();
  const std::map<std::string, ops::Tensor> x{{"x", numbers(g->value(g->inputs[0]).type)}};
  const auto before = graph::interpret(*g, x);
  ASSERT_TRUE(GetParam().split(*g, *g->find_node("y"), 40, diag)) << diag.to_string();
  ASSERT_TRUE(graph::verify(*g, diag)) << diag.to_string();
  const auto after = graph::interpret(*g, x);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, want] : before) {
    const ops::Tensor& have = after.at(name);
    ASSERT_EQ(want.type, have.type);
    for (int64_t i = 0; i < want.elements(); ++i)
      EXPECT_NEAR(want.get(i), have.get(i), 1e-5 * std::max(1.0, std::fabs(want.get(i)))) << name << " " << i;
  }
}

const Case kCases[] = {
    {"sum", "f32[1000]", "reduce_sum", "axes: [0], keepdims: 0", split_reduction},
    {"sum_of_a_prime_extent", "f32[997]", "reduce_sum", "axes: [0]", split_reduction},
    {"mean_of_a_prime_extent", "f32[3, 997, 2]", "reduce_mean", "axes: [1], keepdims: 0", split_reduction},
    {"product", "f32[13, 3]", "reduce_prod", "axes: [0]", split_reduction},
    {"smallest_of_a_prime_extent", "f32[2, 499]", "reduce_min", "axes: [-1]", split_reduction},
    {"largest_along_two_axes", "f32[20, 3, 50]", "reduce_max", "axes: [0, 2]", split_reduction},
    {"largest_of_everything", "f32[20, 3, 50]", "reduce_max", "keepdims: 0", split_reduction},
    {"integers", "i64[7, 100]", "reduce_max", "axes: [1]", split_reduction},
    {"arg_max", "f32[1000]", "arg_max", "axis: 0", split_search},
    {"arg_max_of_a_prime_extent", "f32[997, 2]", "arg_max", "axis: 0, keepdims: 0", split_search},
    {"arg_min_last_index", "f32[2, 997]", "arg_min", "axis: 1, select_last_index: 1", split_search},
    {"top_k", "f32[3, 400]", "top_k", "k: 5", split_search},
    {"top_k_of_a_prime_extent", "f32[397, 2]", "top_k", "k: 3, axis: 0", split_search},
    {"top_k_smallest_integers", "i64[397]", "top_k", "k: 4, largest: 0", split_search},
    {"cum_sum", "f32[3, 400, 2]", "cum_sum", "axis: 1", split_scan},
    {"cum_sum_of_a_prime_extent", "f32[397]", "cum_sum", "axis: 0, exclusive: 1", split_scan},
    {"cum_sum_reverse", "f32[397]", "cum_sum", "axis: 0, reverse: 1", split_scan},
    {"convolution", "f32[2, 6, 5, 3]", "conv", "kernel_shape: [2, 1]", split_convolution},
    {"convolution_in_groups", "f32[1, 12, 5, 3]", "conv", "kernel_shape: [2, 1], group: 2",
     split_convolution},
    {"product_of_streams", "f32[2, 3, 120]", "matmul", "", split_product},
};

INSTANTIATE_TEST_SUITE_P(Operators, InParts, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

// Neither the parts nor their number is more than what is asked for, if its square holds the extent.
TEST(CutDimension, PartsAreBalanced) {
  const DimensionCut million = cut_dimension(1'000'000, 3072);
  EXPECT_EQ(million.parts * million.size, 1'000'000);
  EXPECT_THAT((std::vector<int64_t>{million.parts, million.size}), Each(Le(3072)));
  const DimensionCut prime = cut_dimension(999'983, 3072);
  EXPECT_GE(prime.parts * prime.size, 999'983);
  EXPECT_LT((prime.parts - 1) * prime.size, 999'983);
  const DimensionCut little = cut_dimension(1'000'000, 100);
  EXPECT_EQ(little.size, 100);
  EXPECT_EQ(little.parts, 10'000);
}

}  // namespace
}  // namespace cs::passes

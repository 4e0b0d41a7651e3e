// attention_row.csl through the CSL compiler and the engine, against softmax(scale Q Kᵀ + mask) V in double
// precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

struct Case {
  int heads = 1, queries = 8, keys = 8, depth = 4;
  int width = 0, height = 0;  // 0: what is chosen
  int hidden_behind = -1;     // keys more than so many behind a query are hidden; -1: none
  DataType type = DataType::f32;
  const char* machine = "wse2";
};

std::vector<double> expected(const Case& c, const float* q, const float* k, const float* v, double scale) {
  std::vector<double> y;
  for (int h = 0; h < c.heads; ++h)
    for (int i = 0; i < c.queries; ++i) {
      std::vector<double> w(size_t(c.keys));
      double most = -1e300, total = 0;
      for (int j = 0; j < c.keys; ++j) {
        double s = 0;
        for (int e = 0; e < c.depth; ++e)
          s += double(q[(h * c.queries + i) * c.depth + e]) * double(k[(h * c.keys + j) * c.depth + e]);
        const bool hidden = c.hidden_behind >= 0 && j > i + c.hidden_behind;
        w[size_t(j)] = hidden ? -std::numeric_limits<double>::infinity() : scale * s;
        most = std::max(most, w[size_t(j)]);
      }
      for (double& s : w) total += s = std::exp(s - most);
      for (int e = 0; e < c.depth; ++e) {
        double sum = 0;
        for (int j = 0; j < c.keys; ++j)
          sum += w[size_t(j)] / total * double(v[(h * c.keys + j) * c.depth + e]);
        y.push_back(sum);
      }
    }
  return y;
}

class Attention : public testing::TestWithParam<Case> {};

TEST_P(Attention, GivesTheWeightedValues) {
  const Case& c = GetParam();
  constexpr int kSamples = 3;
  constexpr double kScale = 0.5;
  graph::Graph g;
  g.name = "attention";
  const auto input = [&](const char* name, int rows) {
    return g.add_input(name, {c.type, {1, c.heads, rows, c.depth}}, 0);
  };
  std::vector<ValueId> operands = {input("q", c.queries), input("k", c.keys), input("v", c.keys)};
  if (c.hidden_behind >= 0) {
    ops::Tensor mask(ops::TensorType{c.type, {c.queries, c.keys}});
    for (int i = 0; i < c.queries; ++i)
      for (int j = 0; j < c.keys; ++j)
        mask.set(i * c.keys + j, j > i + c.hidden_behind ? -std::numeric_limits<double>::infinity() : 0.0);
    operands.push_back(g.add_constant("mask", mask));
  }
  const ValueId y =
      test::add_op(g, "op", "attention", operands, {1, c.heads, c.queries, c.depth}, Origin::handwritten);
  g.value(y).type.dtype = c.type;
  ops::set_attr(g.node(*g.find_node("op")).attrs, "scale", kScale);
  g.set_output(y);
  std::map<std::string, std::vector<float>> in;
  uint32_t seed = 1;
  const double size = 3;  // scores are far enough apart for maxima to matter
  for (const auto& [name, rows] : {std::pair{"q", c.queries}, {"k", c.keys}, {"v", c.keys}}) {
    in[name] = test::numbers(size_t(kSamples * c.heads * rows * c.depth), seed++);
    for (float& x : in[name]) x = test::number_of(test::word_of(float(size) * x, c.type), c.type);
  }
  mapping::MapOptions options;
  options.force_width = c.width;
  options.force_height = c.height;
  const test::RunResult r = test::run_graph(g, test::machine(c.machine), options, in, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& got = r.outputs.at("op_out");
  const size_t of_q = size_t(c.heads * c.queries * c.depth), of_k = size_t(c.heads * c.keys * c.depth);
  ASSERT_EQ(got.size(), kSamples * of_q);
  const double tolerance = c.type == DataType::f32 ? 3e-6 : 4e-3;
  for (size_t s = 0; s < kSamples; ++s) {
    const std::vector<double> want =
        expected(c, &in["q"][s * of_q], &in["k"][s * of_k], &in["v"][s * of_k], kScale);
    for (size_t i = 0; i < of_q; ++i)
      ASSERT_NEAR(got[s * of_q + i], want[i], tolerance * size) << s << ", " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Attention,
    testing::Values(
        Case{.width = 1, .height = 1}, Case{.width = 2, .height = 1}, Case{.width = 1, .height = 2},
        Case{.width = 3, .height = 2}, Case{.width = 8, .height = 4}, Case{.hidden_behind = 0},
        Case{.width = 3, .height = 2, .hidden_behind = 0},
        Case{.queries = 5, .keys = 12, .width = 4, .height = 2, .hidden_behind = 7},
        Case{.heads = 3, .queries = 13, .keys = 19, .depth = 5},
        Case{.heads = 3, .queries = 13, .keys = 19, .depth = 5, .width = 4, .height = 7},
        Case{.queries = 1, .keys = 30, .depth = 16, .width = 5, .height = 1},
        Case{.heads = 2, .queries = 32, .keys = 40, .depth = 16, .width = 6, .height = 4},
        Case{.queries = 128, .keys = 96, .depth = 32, .hidden_behind = 3},
        Case{.heads = 2, .queries = 8, .keys = 12, .width = 4, .height = 2, .type = DataType::f16},
        Case{.heads = 2, .queries = 32, .keys = 40, .depth = 16, .width = 6, .height = 4, .machine = "wse3"},
        Case{.queries = 8,
             .keys = 9,
             .width = 3,
             .height = 2,
             .hidden_behind = 1,
             .type = DataType::f16,
             .machine = "wse3"}));

}  // namespace
}  // namespace cs

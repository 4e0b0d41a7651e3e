// attention_row.csl through the CSL compiler and the engine, against softmax(scale Q Kᵀ + mask) V in double
// precision; and what it keeps of masks (kernels/attention_mask.h).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/kernels/attention_mask.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

struct Case {
  int heads = 1, queries = 8, keys = 8, depth = 4;
  int width = 0, height = 0;  // 0: what is chosen
  int hidden_behind = -1;     // keys more than so many behind a query are hidden; -1: none
  int biased = 0;             // heads whose scores have a bias; 1: the same of all
  bool holes = false;         // in the bias: every fifth key is hidden
  DataType type = DataType::f32;
  const char* machine = "wse2";
};

// Of queries and keys, of `biased` heads; what is hidden is -inf.
ops::Tensor mask_of(const Case& c) {
  const int heads = std::max(1, c.biased);
  ops::Tensor mask(ops::TensorType{c.type, {1, heads, c.queries, c.keys}});
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < c.queries; ++i)
      for (int j = 0; j < c.keys; ++j) {
        const bool hidden =
            (c.hidden_behind >= 0 && j > i + c.hidden_behind) || (c.holes && (i + j) % 5 == 2);
        const double bias = c.biased > 0 ? 0.25 * ((7 * h + 3 * i + 5 * j) % 13) - 1 : 0;
        mask.set((h * c.queries + i) * c.keys + j, hidden ? -std::numeric_limits<double>::infinity() : bias);
      }
  return mask;
}

std::vector<double> expected(const Case& c, const float* q, const float* k, const float* v, double scale) {
  std::vector<double> y;
  const ops::Tensor mask = mask_of(c);
  for (int h = 0; h < c.heads; ++h)
    for (int i = 0; i < c.queries; ++i) {
      std::vector<double> w(size_t(c.keys));
      double most = -1e300, total = 0;
      for (int j = 0; j < c.keys; ++j) {
        double s = 0;
        for (int e = 0; e < c.depth; ++e)
          s += double(q[(h * c.queries + i) * c.depth + e]) * double(k[(h * c.keys + j) * c.depth + e]);
        w[size_t(j)] =
            scale * s + mask.get((std::min(h, c.biased - 1) * (c.biased > 0) * c.queries + i) * c.keys + j);
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
  if (c.hidden_behind >= 0 || c.biased > 0 || c.holes) operands.push_back(g.add_constant("mask", mask_of(c)));
  const ValueId y =
      test::add_op(g, "op", "attention", operands, {1, c.heads, c.queries, c.depth}, Origin::handwritten);
  g.value(y).type.dtype = c.type;
  ops::set_attr(g.node(*g.find_node("op")).attrs, "scale", kScale);
  g.set_output(y);
  std::map<std::string, std::vector<float>> in;
  uint32_t seed = 1;
  const double size = 3;  // scores are far enough apart for maxima to matter
  for (const auto& [name, rows] : {std::pair{"q", c.queries}, {"k", c.keys}, {"v", c.keys}}) {
    in[name] = test::numbers(size_t(kSamples) * c.heads * rows * c.depth, seed++);
    for (float& x : in[name]) x = test::number_of(test::word_of(float(size) * x, c.type), c.type);
  }
  mapping::MapOptions options;
  options.force_width = c.width;
  options.force_height = c.height;
  const test::RunResult r = test::run_graph(g, test::machine(c.machine), options, in, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& got = r.outputs.at("op_out");
  const size_t of_q = size_t(c.heads) * c.queries * c.depth, of_k = size_t(c.heads) * c.keys * c.depth;
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
        Case{.queries = 128, .keys = 96, .depth = 32, .hidden_behind = 3}, Case{.biased = 1},
        Case{.width = 3, .height = 2, .biased = 1},
        Case{.heads = 3, .queries = 13, .keys = 19, .depth = 5, .width = 4, .height = 7, .biased = 3},
        Case{.heads = 2, .queries = 32, .keys = 40, .depth = 16, .width = 6, .height = 4, .biased = 1},
        Case{.heads = 2, .queries = 32, .keys = 40, .depth = 16, .width = 6, .height = 2, .biased = 2},
        Case{.queries = 5, .keys = 12, .width = 4, .height = 2, .hidden_behind = 7, .biased = 1},
        Case{.queries = 9, .keys = 12, .width = 4, .height = 2, .holes = true},
        Case{.heads = 2, .queries = 9, .keys = 12, .hidden_behind = 3, .biased = 2, .holes = true},
        Case{.heads = 2,
             .queries = 8,
             .keys = 12,
             .width = 4,
             .height = 2,
             .biased = 2,
             .holes = true,
             .type = DataType::f16},
        Case{.heads = 2,
             .queries = 32,
             .keys = 41,
             .depth = 16,
             .width = 6,
             .height = 4,
             .hidden_behind = 9,
             .biased = 2,
             .type = DataType::f16,
             .machine = "wse3"},
        Case{.heads = 2, .queries = 8, .keys = 12, .width = 4, .height = 2, .type = DataType::f16},
        Case{.heads = 2, .queries = 32, .keys = 40, .depth = 16, .width = 6, .height = 4, .machine = "wse3"},
        Case{.queries = 8,
             .keys = 9,
             .width = 3,
             .height = 2,
             .hidden_behind = 1,
             .type = DataType::f16,
             .machine = "wse3"}));

TEST(ScoreMask, KeepsWhatLaterKeysDoNotSay) {
  const auto read = [](const std::vector<float>& list) {
    return kernels::read_score_mask(ops::Tensor::from_floats({1, 2, 3}, list), 1, 2, 3);
  };
  const float no = -1e9F;
  EXPECT_EQ(read({0, no, no, 0, 0, no})->hidden_behind, 0);
  EXPECT_EQ(read({0, no, no, 0, 0, no})->heads, 0);
  EXPECT_EQ(read({1, no, no, 0, 0, no})->hidden_behind, 0);
  EXPECT_EQ(read({1, no, no, 0, 0, no})->heads, 1);
  EXPECT_EQ(read({0, no, 0, 0, 0, 0})->hidden_behind, std::nullopt);
  EXPECT_EQ(read({0, no, 0, 0, 0, 0})->heads, 1);
  EXPECT_EQ(read({0, 0, 0, 0, 0, 0})->heads, 0);
  EXPECT_FALSE(kernels::read_score_mask(ops::Tensor::from_floats({5}, {0, 0, 0, 0, 0}), 1, 2, 3));
}

// The largest half is 65,504: a bias of 100 needs a scale of 1/655, and what hides 200 less than any other
// score.
TEST(ScoreMask, OfLargeBiasesIsNotKeptInHalves) {
  const ops::Tensor mask = ops::Tensor::from_floats({1, 3}, {100, -100, -1e9F});
  EXPECT_TRUE(kernels::keeps_in_halves(mask, 1.0 / 128));
  EXPECT_FALSE(kernels::keeps_in_halves(mask, 1.0 / 1024));
  EXPECT_FALSE(kernels::keeps_in_halves(ops::Tensor::from_floats({1, 1}, {-1e9F}), 0.003));
}

}  // namespace
}  // namespace cs

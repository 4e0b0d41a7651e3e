// Which elements dropout keeps: the rule written down again in whole numbers, and what it should look like.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/frontend/frontend.h"
#include "runtime/ops/ops.h"

namespace cs::ops {
namespace {

std::vector<double> mask(const Shape& shape, double ratio, int64_t seed, double step,
                         std::optional<double> trains = {}) {
  Tensor number({DataType::f32, {}}), flag({DataType::f32, {}});
  number.set(0, step);
  flag.set(0, trains.value_or(0));
  std::vector<const Tensor*> operands{&number};
  if (trains) operands.push_back(&flag);
  std::vector<Tensor> results;
  Diag diag;
  const Attrs attrs{{"shape", shape}, {"ratio", ratio}, {"seed", seed}};
  EXPECT_TRUE(evaluate(*find_op("dropout_mask"), attrs, operands, results, diag)) << diag.to_string();
  std::vector<double> out;
  for (int64_t i = 0; i < results.at(0).elements(); ++i) out.push_back(results[0].get(i));
  return out;
}

bool kept(int64_t row, int64_t column, double ratio, int64_t seed, int64_t step) {
  constexpr int64_t kPrime = 1021;
  int64_t half[2] = {column % kPrime, row % kPrime};
  const int64_t keys[3] = {step % kPrime, step / kPrime % kPrime, column / kPrime + 31 * (row / kPrime)};
  for (int r = 0; r < 6; ++r) {
    uint64_t z = uint64_t(seed) * 0x9E3779B97F4A7C15ull + uint64_t(r + 1) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    const auto constant = int64_t((z ^ (z >> 31)) % uint64_t(kPrime));
    const int64_t other = half[1 - r % 2];
    half[r % 2] = (half[r % 2] + other * other + keys[r % 3] + constant) % kPrime;
  }
  return half[0] * kPrime + half[1] >= std::llround(ratio * double(kPrime * kPrime));
}

TEST(DropoutMask, IsTheRuleInWholeNumbers) {
  for (const auto& [shape, ratio, seed, step] : {std::tuple{Shape{3, 5, 1100}, 0.25, int64_t(7), 1.0},
                                                 std::tuple{Shape{2000}, 0.5, int64_t(65536), 2'000'000.0}}) {
    const std::vector<double> m = mask(shape, ratio, seed, step);
    for (size_t i = 0; i < m.size(); ++i) {
      const int64_t row = int64_t(i) / shape.back(), column = int64_t(i) % shape.back();
      ASSERT_EQ(m[i], kept(row, column, ratio, seed, int64_t(step)) ? double(float(1 / (1 - ratio))) : 0)
          << i;
    }
  }
}

// Shares within five standard deviations of those of independent draws.
TEST(DropoutMask, KeepsAsManyAsItShouldAndOthersEachStep) {
  const Shape shape{64, 512};
  constexpr double n = 64 * 512;
  const auto expect_share = [&](double found, double p) {
    EXPECT_NEAR(found / n, p, 5 * std::sqrt(p * (1 - p) / n));
  };
  for (const double ratio : {0.1, 0.5, 0.9}) {
    const auto a = mask(shape, ratio, 3, 1), b = mask(shape, ratio, 3, 2), c = mask(shape, ratio, 4, 1);
    double one = 0, two = 0, seeds = 0, right = 0, below = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      one += a[i] != 0;
      two += a[i] != 0 && b[i] != 0;
      seeds += a[i] != 0 && c[i] != 0;
      right += a[i] != 0 && a[(i + 1) % a.size()] != 0;
      below += a[i] != 0 && a[(i + 512) % a.size()] != 0;
    }
    const double p = 1 - ratio;
    expect_share(one, p);
    for (const double both : {two, seeds, right, below}) expect_share(both, p * p);
  }
}

TEST(DropoutMask, LetsEverythingPassWhereNothingIsTrained) {
  EXPECT_THAT(mask({4, 8}, 0.5, 1, 3, 0), ::testing::Each(1.0));
  EXPECT_EQ(mask({4, 8}, 0.5, 1, 3, 1), mask({4, 8}, 0.5, 1, 3));
  EXPECT_THAT(mask({4, 8}, 0, 1, 3), ::testing::Each(1.0));
}

TEST(Dropout, StandsWhereAConfigurationSaysInStepsOfTrainingAlone) {
  const auto masks = [](std::vector<std::string> set) {
    set.insert(set.end(),
               {"optimizer.optimizer_type=SGD", "optimizer.learning_rate=0.1", "train_input.batch_size=2"});
    Diag diag;
    const auto g = frontend::load_model(std::string(CS_SOURCE_DIR) + "/tests/training/gpt.yaml",
                                        frontend::LoadOptions{{}, set}, diag);
    EXPECT_TRUE(g) << diag.to_string();
    int found = 0;
    for (const graph::NodeId id : g->nodes()) {
      found += g->node(id).op == "dropout_mask";
      EXPECT_NE(g->node(id).op, "dropout");
    }
    return found;
  };
  EXPECT_EQ(masks({"model.dropout_rate=0.1"}),
            4);  // two sums in each of two layers; rates of parts are 0 there
  EXPECT_EQ(masks({"model.attention_dropout_rate=0.1", "model.embedding_dropout_rate=0.2"}), 3);
  EXPECT_EQ(masks({"model.dropout_rate=0.1", "runconfig.mode=infer"}), 0);
  EXPECT_EQ(masks({}), 0);
}

}  // namespace
}  // namespace cs::ops

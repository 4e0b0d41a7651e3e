// Losses on small operands, by hand; the golden vectors judge them at large (golden_test.cpp).
#include <gmock/gmock.h>

#include "tests/unit/graph/row_cases.h"

namespace cs::ops {
namespace {

using ::testing::HasSubstr;

const Attrs kSum = {{"reduction", std::string("sum")}}, kNone = {{"reduction", std::string("none")}};

Attrs with(Attrs attrs, std::string_view name, AttrValue value) {
  set_attr(attrs, name, std::move(value));
  return attrs;
}

TEST(Losses, OfPairsOfElements) {
  const Tensor x = floats({2, 2}, {1, -2, 3, 0.5F}), t = floats({2, 2}, {1, 1, 1, 0});
  check({
      {"l1_loss", {}, {x, t}, {floats({}, {(0 + 3 + 2 + 0.5F) / 4})}},
      {"mse_loss", kSum, {x, t}, {floats({}, {0 + 9 + 4 + 0.25F})}},
      // Inside of delta half the square, outside delta · (|d| - delta / 2).
      {"huber_loss", with(kNone, "delta", 2.0), {x, t}, {floats({2, 2}, {0, 2 * (3 - 1), 0.5F * 4, 0.125F})}},
      {"smooth_l1_loss",
       with(kNone, "beta", 0.5),
       {x, t},
       {floats({2, 2}, {0, 3 - 0.25F, 2 - 0.25F, 0.5F - 0.25F})}},
      {"smooth_l1_loss", with(kNone, "beta", 0.0), {x, t}, {floats({2, 2}, {0, 3, 2, 0.5F})}},
      {"hinge_embedding_loss",
       kNone,
       {x, floats({2, 2}, {1, -1, -1, -1})},
       {floats({2, 2}, {1, 3, 0, 0.5F})}},
      {"margin_ranking_loss",
       with(kNone, "margin", 0.5),
       {floats({3}, {1, 2, 3}), floats({3}, {2, 2, 1}), floats({3}, {1, -1, 1})},
       {floats({3}, {1.5F, 0.5F, 0})}},
      // log 0 counts as -100.
      {"bce_loss",
       kNone,
       {floats({4}, {0.5F, 0, 0, 1}), floats({4}, {1, 1, 0, 1}), floats({4}, {2, 1, 1, 1})},
       {floats({4}, {2 * 0.6931472F, 100, 0, 0})}},
      // log 2 at logit 0; positive weight 3.
      {"bce_with_logits_loss",
       kNone,
       {floats({2}, {0, 0}), floats({2}, {0, 1}), std::nullopt, floats({2}, {3, 3})},
       {floats({2}, {0.6931472F, 3 * 0.6931472F})}},
      {"kl_div_loss",
       {{"reduction", std::string("batchmean")}},
       {floats({2, 2}, {-1, -2, -3, -4}), floats({2, 2}, {1, 0, 1, 0})},
       {floats({}, {(1 + 3) / 2.0F})}},
      // Variance below eps counts as eps: 0.5 (log 0.25 + 1 / 0.25).
      {"gaussian_nll_loss",
       with(kSum, "eps", 0.25),
       {floats({1, 1}, {2}), floats({1, 1}, {1}), floats({1}, {0.01F})},
       {floats({}, {0.5F * (-1.3862944F + 4)})}},
      // e^0 - 3 · 0 + (3 log 3 - 3 + log(6 pi) / 2); no such term for target 1.
      {"poisson_nll_loss",
       with(kNone, "full", int64_t(1)),
       {floats({2}, {0, 0}), floats({2}, {3, 1})},
       {floats({2}, {1 + 3.2958369F - 3 + 0.5F * 2.9364893F, 1})}},
  });
}

TEST(Losses, OfClassScores) {
  // Equal scores: log 3 for each class. Class 7 does not exist, class 1 is ignored.
  const Tensor equal = floats({4, 3}, std::vector<float>(12, 2));
  const float log3 = 1.0986123F;
  const Attrs ignore = with(kNone, "ignore_index", int64_t(1));
  const Tensor weights = floats({3}, {1, 2, 4});
  check({
      {"cross_entropy_loss", ignore, {equal, ints({4}, {0, 1, 2, 7})}, {floats({4}, {log3, 0, log3, 0})}},
      {"cross_entropy_loss",
       {{"ignore_index", int64_t(1)}},
       {equal, ints({4}, {0, 1, 2, 2}), weights},
       {floats({}, {(1 + 4 + 4) * log3 / 9})}},
      // Half of the loss is the weighted sum over the classes divided by their number.
      {"cross_entropy_loss",
       with(kSum, "label_smoothing", 0.5),
       {equal, ints({4}, {0, 0, 0, 0}), weights},
       {floats({}, {4 * (0.5F * log3 + 0.5F * 7 * log3 / 3)})}},
      {"cross_entropy_loss", {}, {floats({3}, {0, 0, 0}), ints({}, {1})}, {floats({}, {log3})}},
      {"cross_entropy_loss",
       {},
       {floats({2, 3}, {2, 2, 2, 2, 2, 2}), floats({2, 3}, {0.5F, 0.5F, 0, 0, 0, 1})},
       {floats({}, {log3})}},
      {"nll_loss",
       kNone,
       {floats({1, 2, 2}, {-1, -2, -3, -4}), ints({1, 2}, {1, 0}, DataType::i32), floats({2}, {1, 10})},
       {floats({1, 2}, {30, 2})}},
      // Indices of 8 bits, in which 300, the last class, would be 44, and -100, which is ignored, 156.
      {"nll_loss",
       {},
       {ramp({2, 301}), ints({2}, {44, 156}, DataType::u8)},
       {floats({}, {-(45 + 301 + 157) / 2.0F})}},
      // Class 2 of scores 1, 0, 0.5 with margin 1: 1.5 and 0.5 over 3 classes, squares with p = 2.
      {"multi_margin_loss", {}, {floats({1, 3}, {1, 0, 0.5F}), ints({1}, {2})}, {floats({}, {2 / 3.0F})}},
      {"multi_margin_loss",
       {{"p", 2.0}},
       {floats({3}, {1, 0, 0.5F}), ints({}, {2}), weights},
       {floats({}, {4 * (2.25F + 0.25F) / 3})}},
      {"multi_label_soft_margin_loss",
       {},
       {floats({1, 2}, {0, 0}), floats({1, 2}, {0, 1}), floats({2}, {1, 3})},
       {floats({}, {4 * 0.6931472F / 2})}},
  });
}

TEST(Losses, OfDistances) {
  const Tensor a = floats({2}, {0, 0}), p = floats({2}, {3, 4}), n = floats({2}, {0, 6});
  const auto named = [](const char* name) { return Attrs{{"distance", std::string(name)}}; };
  check({
      // 1 + 5 - 6 = 0; with swap the distance from p to n, √13, is the smaller one.
      {"triplet_margin_loss", {{"eps", 0.0}, {"margin", 2.0}}, {a, p, n}, {floats({}, {1})}},
      {"triplet_margin_loss",
       {{"eps", 0.0}, {"swap", int64_t(1)}},
       {a, p, n},
       {floats({}, {1 + 5 - 3.6055513F})}},
      {"triplet_margin_loss", {{"eps", 0.0}, {"p", 1.0}}, {a, p, n}, {floats({}, {1 + 7 - 6})}},
      // Roots of the third degree of 27 + 64 and 216.
      {"triplet_margin_loss",
       {{"eps", 0.0}, {"p", 3.0}, {"margin", 4.0}},
       {a, p, n},
       {floats({}, {4 + 4.4979414F - 6})}},
      {"triplet_margin_with_distance_loss", named("l1"), {a, p, n}, {floats({}, {1 + 7 - 6})}},
      {"triplet_margin_with_distance_loss", named("sq_l2"), {n, p, a}, {floats({}, {0})}},
      // Cosines 4/5 and 0, of p with n and with (4, -3).
      {"triplet_margin_with_distance_loss",
       named("cosine"),
       {p, n, floats({2}, {4, -3})},
       {floats({}, {0.2F})}},
      {"cosine_embedding_loss",
       with(kNone, "margin", 0.5),
       {floats({2, 2}, {3, 4, 3, 4}), floats({2, 2}, {0, 6, 0, 6}), floats({2}, {1, -1})},
       {floats({2}, {0.2F, 0.3F})}},
  });
}

TEST(Losses, Ctc) {
  // Two classes and blank (0), all as likely: a path of T steps has probability 3^-T. Label 1 in two steps:
  // the paths 1-, -1 and 11. In three steps: 11-, -11, 1--, -1-, --1 and 111.
  const auto even = [](int64_t steps, int64_t batch) {
    return floats({steps, batch, 3}, std::vector<float>(size_t(steps * batch * 3), -1.0986123F));
  };
  const auto paths = [](double count, int steps) { return float(steps * std::log(3.0) - std::log(count)); };
  const Tensor two = ints({2, 2}, {1, 0, 1, 2}), lengths = ints({2}, {2, 3}), labels = ints({2}, {1, 2});
  const Tensor one = ints({1}, {1});
  check({
      {"ctc_loss", kNone, {even(2, 1), ints({1, 1}, {1}), ints({1}, {2}), one}, {floats({1}, {paths(3, 2)})}},
      // The second sample: 12-, 1-2, -12, 112, 122. The first one ends after two of the three steps.
      {"ctc_loss", kNone, {even(3, 2), two, lengths, labels}, {floats({2}, {paths(3, 2), paths(5, 3)})}},
      {"ctc_loss",
       {},
       {even(3, 2), two, lengths, labels},
       {floats({}, {(paths(3, 2) + paths(5, 3) / 2) / 2})}},
      // The same targets one behind the other, without padding.
      {"ctc_loss",
       kSum,
       {even(3, 2), ints({3}, {1, 1, 2}), lengths, labels},
       {floats({}, {paths(3, 2) + paths(5, 3)})}},
      // A label twice needs a blank between: 1-1 only, and no path in two steps.
      {"ctc_loss",
       kNone,
       {even(3, 1), ints({1, 2}, {1, 1}), ints({1}, {3}), ints({1}, {2})},
       {floats({1}, {paths(1, 3)})}},
      {"ctc_loss",
       with(kNone, "zero_infinity", int64_t(1)),
       {even(2, 1), ints({1, 2}, {1, 1}), ints({1}, {2}), ints({1}, {2})},
       {floats({1}, {0})}},
      // No batch, another blank, no label: all steps are blank.
      {"ctc_loss",
       with({}, "blank", int64_t(2)),
       {floats({2, 3}, std::vector<float>(6, -1.0986123F)), ints({1}, {1}), ints({}, {2}), ints({}, {0})},
       {floats({}, {paths(1, 2)})}},
  });
  std::vector<Tensor> out;
  Diag diag;
  ASSERT_TRUE(evaluate(*find_op("ctc_loss"), kNone,
                       {even(2, 1), ints({1, 2}, {1, 1}), ints({1}, {2}), ints({1}, {2})}, out, diag));
  EXPECT_EQ(out[0].get(0), INFINITY);
}

TEST(Losses, OnnxFormGivesLogarithmsToo) {
  const float log3 = 1.0986123F;
  check({{"softmax_cross_entropy",
          {},
          {floats({1, 3}, {1, 1, 1}), ints({1}, {2})},
          {floats({}, {log3}), floats({1, 3}, {-log3, -log3, -log3})}}});
}

TEST(Losses, HalvesAreSummedInSingles) {
  // 3,000 squares of 0.5: 750 in f32, and in f16 as long as sums are not rounded to it.
  Tensor x(TensorType{DataType::f16, {3000}}), t(TensorType{DataType::f16, {3000}});
  for (int64_t i = 0; i < 3000; ++i) x.set(i, 0.5);
  Tensor y(TensorType{DataType::f16, {}});
  y.set(0, 750);
  check({{"mse_loss", kSum, {x, t}, {y}}});
}

TEST(Losses, OptionsAndShapesAreChecked) {
  const auto refused = [](const char* op, const Attrs& attrs, std::vector<TensorType> types) {
    std::vector<const TensorType*> operands;
    for (const TensorType& t : types) operands.push_back(&t);
    std::vector<TensorType> outputs;
    std::string error;
    EXPECT_FALSE(infer_types(*find_op(op), attrs, operands, outputs, error)) << op;
    return error;
  };
  const TensorType x{DataType::f32, {4, 3}}, t{DataType::i64, {4}}, other{DataType::f32, {4}};
  EXPECT_EQ(refused("mse_loss", {{"reduction", std::string("average")}}, {x, x}),
            "reduction must be mean, sum or none");
  EXPECT_EQ(refused("huber_loss", {{"delta", 0.0}}, {x, x}), "delta must be greater than 0");
  EXPECT_EQ(refused("smooth_l1_loss", {{"beta", -1.0}}, {x, x}), "beta must not be negative");
  EXPECT_EQ(refused("bce_loss", {}, {x, other}), "input and target must have the same shape");
  EXPECT_EQ(refused("multi_margin_loss", {{"p", 3.0}}, {x, t}), "p must be 1 or 2");
  EXPECT_EQ(refused("triplet_margin_loss", {{"p", -1.0}}, {x, x, x}), "p must be greater than 0");
  EXPECT_EQ(refused("cross_entropy_loss", {}, {x, other}),
            "probabilities of classes must have the shape of the input");
  EXPECT_EQ(refused("nll_loss", {}, {x, x}), "the target must hold indices of classes");
  const TensorType p{DataType::f32, {5, 4, 3}}, words{DataType::i64, {4, 2}};
  EXPECT_EQ(refused("ctc_loss", {{"blank", int64_t(3)}}, {p, words, t, t}),
            "blank 3 is not one of 3 classes");
  EXPECT_EQ(refused("ctc_loss", {}, {p, words, t, other}),
            "operand 'target_lengths' is f32[4]; it must hold integers, lengths one for each sample");
  EXPECT_THAT(refused("cross_entropy_loss", {}, {x, {DataType::i64, {5}}}),
              HasSubstr("i64[5] does not choose"));
}

}  // namespace
}  // namespace cs::ops

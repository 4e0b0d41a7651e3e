// Learning-rate schedules against hand calculations, and what is wrong with bad ones.
#include "runtime/support/schedule.h"

#include <gmock/gmock.h>

#include <cmath>

namespace cs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

LearningRate rate(const std::string& text) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("r: " + text, "t", diag);
  const auto r = doc ? read_learning_rate(*doc->root().find("r"), "learning_rate", diag) : std::nullopt;
  EXPECT_TRUE(r) << diag.to_string();
  return r.value_or(LearningRate());
}

std::string complaint(const std::string& text) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("r: " + text, "t", diag);
  EXPECT_FALSE(doc && read_learning_rate(*doc->root().find("r"), "learning_rate", diag)) << text;
  return diag.to_string();
}

TEST(Schedule, ANumberIsConstant) {
  EXPECT_EQ(rate("1e-3").value(0), 1e-3);
  EXPECT_EQ(rate("1e-3").value(1'000'000), 1e-3);
  EXPECT_EQ(rate("{scheduler: Constant, learning_rate: 0.5}").value(7), 0.5);
}

TEST(Schedule, LinearGoesFromOneRateToTheOther) {
  const LearningRate r =
      rate("{scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 3, steps: 4}");
  EXPECT_DOUBLE_EQ(r.value(0), 1);
  EXPECT_DOUBLE_EQ(r.value(1), 1.5);
  EXPECT_DOUBLE_EQ(r.value(4), 3);
  EXPECT_DOUBLE_EQ(r.value(100), 3);
  // 1 + 8 (1 - 1/4)^2
  EXPECT_DOUBLE_EQ(
      rate("{scheduler: polynomial, initial_learning_rate: 9, end_learning_rate: 1, steps: 4, power: 2}")
          .value(1),
      5.5);
}

TEST(Schedule, CosineDecayIsAHalfWave) {
  const LearningRate r =
      rate("{scheduler: CosineDecay, initial_learning_rate: 3, end_learning_rate: 1, decay_steps: 6}");
  EXPECT_DOUBLE_EQ(r.value(0), 3);
  EXPECT_DOUBLE_EQ(r.value(2), 1 + 0.5 * (1 + 0.5) * 2);  // cos(pi / 3) = 1/2
  EXPECT_NEAR(r.value(3), 2, 1e-15);
  EXPECT_DOUBLE_EQ(r.value(6), 1);
  EXPECT_DOUBLE_EQ(r.value(60), 1);
}

TEST(Schedule, ExponentialGoesOn) {
  const std::string keys =
      "scheduler: ExponentialLR, initial_learning_rate: 8, decay_steps: 10, decay_rate: 0.25";
  const LearningRate r = rate("{" + keys + "}");
  EXPECT_DOUBLE_EQ(r.value(0), 8);
  EXPECT_DOUBLE_EQ(r.value(5), 4);
  EXPECT_DOUBLE_EQ(r.value(20), 0.5);
  const LearningRate stairs = rate("{" + keys + ", staircase: True}");
  EXPECT_DOUBLE_EQ(stairs.value(9), 8);
  EXPECT_DOUBLE_EQ(stairs.value(10), 2);
}

TEST(Schedule, MayLastShorterThanItDecays) {
  const LearningRate r = rate(
      "[{scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0, steps: 2, decay_steps: 8}, "
      "{scheduler: Constant, learning_rate: 0.25}]");
  EXPECT_DOUBLE_EQ(r.value(1), 0.875);
  EXPECT_DOUBLE_EQ(r.value(2), 0.25);
}

TEST(Schedule, InverseSquareRootDecayBeginsAfterItsWarmUp) {
  const LearningRate r = rate("{scheduler: InverseSquareRootDecay, scale: 3, warmup_steps: 4}");
  EXPECT_DOUBLE_EQ(r.value(0), 1.5);
  EXPECT_DOUBLE_EQ(r.value(4), 1.5);
  EXPECT_DOUBLE_EQ(r.value(36), 0.5);
}

TEST(Schedule, AKeyThatLooksLikeNoOtherIsAWarning) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("{scheduler: Constant, learning_rate: 1, warmth: 2}", "t", diag);
  ASSERT_TRUE(doc && read_learning_rate(doc->root(), "learning_rate", diag)) << diag.to_string();
  EXPECT_THAT(diag.to_string(), HasSubstr("unknown key 'warmth': it changes nothing"));
}

TEST(Schedule, PiecewiseConstantChangesAtItsBoundaries) {
  const LearningRate r = rate("{scheduler: PiecewiseConstant, values: [1, 0.5, 0.1], boundaries: [2, 5]}");
  EXPECT_EQ(r.value(1), 1);
  EXPECT_EQ(r.value(2), 0.5);
  EXPECT_EQ(r.value(4), 0.5);
  EXPECT_EQ(r.value(5), 0.1);
}

TEST(Schedule, AListIsOneAfterAnother) {
  const std::string list = R"([
    {scheduler: Linear, initial_learning_rate: 0, end_learning_rate: 1, steps: 10},
    {scheduler: Constant, learning_rate: 0.75, steps: 5},
    {scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0, steps: 20}])";
  LearningRate r = rate(list);
  EXPECT_DOUBLE_EQ(r.value(9), 0.9);
  EXPECT_DOUBLE_EQ(r.value(10), 0.75);
  EXPECT_DOUBLE_EQ(r.value(14), 0.75);
  EXPECT_DOUBLE_EQ(r.value(15), 1);
  EXPECT_DOUBLE_EQ(r.value(25), 0.5);
  EXPECT_DOUBLE_EQ(r.value(500), 0);
  r.steps_restart = false;  // 15 of 20 steps are over when it begins
  EXPECT_DOUBLE_EQ(r.value(15), 0.25);
}

TEST(Schedule, WhatIsWrongIsSaid) {
  EXPECT_THAT(complaint("fast"), HasSubstr("learning_rate"));
  EXPECT_THAT(complaint("-1"), HasSubstr("-1 is not a learning rate"));
  EXPECT_THAT(complaint(".inf"), HasSubstr("inf is not a learning rate"));
  EXPECT_THAT(complaint("[]"), HasSubstr("empty"));
  EXPECT_THAT(complaint("[0.1, 0.2]"), HasSubstr("must be a schedule"));
  EXPECT_THAT(complaint("{steps: 3}"), HasSubstr("'scheduler'"));
  EXPECT_THAT(complaint("{scheduler: CosinDecay}"),
              AllOf(HasSubstr("CosinDecay"), HasSubstr("did you mean 'CosineDecay'")));
  EXPECT_THAT(complaint("{scheduler: Linear, initial_learing_rate: 1, end_learning_rate: 0, steps: 2}"),
              AllOf(HasSubstr("needs the key 'initial_learning_rate'"),
                    HasSubstr("unknown key 'initial_learing_rate'"),
                    HasSubstr("did you mean 'initial_learning_rate'")));
  EXPECT_THAT(complaint("{scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0}"),
              HasSubstr("'steps'"));
  EXPECT_THAT(complaint("{scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0, steps: 0}"),
              HasSubstr("at least 1"));
  EXPECT_THAT(complaint("{scheduler: Constant, learning_rate: 1, decay_steps: 2, total_iters: 2}"),
              HasSubstr("both"));
  EXPECT_THAT(complaint("[{scheduler: Constant, learning_rate: 1}, {scheduler: Constant, learning_rate: 2}]"),
              HasSubstr("only the last"));
  EXPECT_THAT(complaint("{scheduler: PiecewiseConstant, values: [1, 2], boundaries: [3, 4]}"),
              HasSubstr("one more"));
  EXPECT_THAT(complaint("{scheduler: PiecewiseConstant, values: [1, 2, 3], boundaries: [4, 4]}"),
              HasSubstr("rise"));
  EXPECT_THAT(complaint("{scheduler: Exponential, initial_learning_rate: 1, decay_steps: 5, decay_rate: 0}"),
              HasSubstr("above 0"));
}

TEST(Schedule, ItsTextReadsBackAsTheSameRate) {
  for (const char* text :
       {"0.25", "{scheduler: Linear, initial_learning_rate: 1, end_learning_rate: 0.1, steps: 7}",
        "{scheduler: Polynomial, initial_learning_rate: 1, end_learning_rate: 0, power: 0.3, steps: 9, "
        "decay_steps: 4}",
        "{scheduler: Exponential, initial_learning_rate: 1, decay_rate: 0.9, staircase: true, decay_steps: "
        "10}",
        "{scheduler: PiecewiseConstant, values: [1, 0.1, 0.3], boundaries: [3, 8]}",
        "{scheduler: InverseSquareRootDecay, initial_learning_rate: 0.7, scale: 3, warmup_steps: 20}",
        "[{scheduler: Constant, learning_rate: 0.1, steps: 5}, "
        "{scheduler: CosineDecay, initial_learning_rate: 0.1, end_learning_rate: 0, steps: 30}]"}) {
    const LearningRate first = rate(text);
    EXPECT_EQ(rate(schedule_text(first)), first) << schedule_text(first);
  }
}

}  // namespace
}  // namespace cs

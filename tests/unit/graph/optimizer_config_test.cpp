// The section `optimizer` of model configurations: what its keys become, and complaints.
#include "compiler/frontend/optimizer_config.h"

#include <gmock/gmock.h>

namespace cs::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Outcome {
  std::optional<OptimizerConfig> config;
  std::string text;  // of the diagnostics
  size_t errors = 0, warnings = 0;
};

Outcome read(const std::string& optimizer, const std::vector<std::string>& set = {}) {
  Diag diag;
  const auto doc = YamlDoc::parse_text("model: {name: mlp}\n" + optimizer, "model.yaml", diag);
  auto c = doc ? ModelConfig::read("model.yaml", doc->root(), set, diag) : std::nullopt;
  EXPECT_TRUE(c) << diag.to_string();
  Outcome out;
  if (c) out.config = read_optimizer(*c);
  out.text = diag.to_string();
  out.errors = diag.errors();
  out.warnings = diag.warnings();
  return out;
}

OptimizerConfig good(const std::string& keys) {
  const Outcome o = read("optimizer: {" + keys + "}");
  EXPECT_EQ(o.text, "") << keys;
  EXPECT_TRUE(o.config) << keys;
  return o.config.value_or(OptimizerConfig());
}

std::string bad(const std::string& keys) {
  const Outcome o = read("optimizer: {" + keys + "}");
  EXPECT_FALSE(o.config) << keys;
  EXPECT_GT(o.errors, 0u) << keys;
  return o.text;
}

double real(const OptimizerRow& r, const char* name) {
  return ops::attr_real(*ops::find_op(r.name), r.attrs, name);
}
int64_t integer(const OptimizerRow& r, const char* name) {
  return ops::attr_int(*ops::find_op(r.name), r.attrs, name);
}

TEST(OptimizerConfig, KeysBecomeTheRowsAttributes) {
  const OptimizerConfig c = good(
      "optimizer_type: adamw, learning_rate: 2.8e-4, weight_decay_rate: 0.1, beta1: 0.8, beta_2: 0.95, "
      "epsilon: 1e-6, "
      "correct_bias: True, max_gradient_norm: 1.0");
  EXPECT_EQ(c.learning_rate->value(3), 2.8e-4);
  EXPECT_EQ(c.max_gradient_norm, 1);
  const OptimizerRow row = row_of(c);
  EXPECT_EQ(row.name, "adam_step");
  EXPECT_EQ(real(row, "weight_decay"), 0.1);
  EXPECT_EQ(real(row, "beta1"), 0.8);
  EXPECT_EQ(real(row, "beta2"), 0.95);
  EXPECT_EQ(real(row, "eps"), 1e-6);
  EXPECT_EQ(integer(row, "decoupled"), 1);
  EXPECT_EQ(ops::attr_text(*ops::find_op(row.name), row.attrs, "correction"), "moments");

  const OptimizerRow sgd =
      row_of(good("optimizer_type: SGD, learning_rate: 0.1, momentum: 0.9, use_nesterov: true"));
  EXPECT_EQ(sgd.name, "sgd_step");
  EXPECT_EQ(real(sgd, "momentum"), 0.9);
  EXPECT_EQ(integer(sgd, "nesterov"), 1);
  const OptimizerRow adagrad =
      row_of(good("optimizer_type: AdaGrad, lr: 0.1, lr_decay: 0.5, initial_accumulator_value: 0.25"));
  EXPECT_EQ(adagrad.name, "adagrad_step");
  EXPECT_EQ(real(adagrad, "lr_decay"), 0.5);
  EXPECT_EQ(adagrad.initial_state, 0.25);
  const OptimizerRow rms =
      row_of(good("optimizer_type: RMSprop, learning_rate: 0.1, alpha: 0.9, centered: True"));
  EXPECT_EQ(rms.name, "rmsprop_step");
  EXPECT_EQ(real(rms, "alpha"), 0.9);
  EXPECT_EQ(integer(rms, "centered"), 1);
}

TEST(OptimizerConfig, DefaultsAreThoseOfPyTorch) {
  EXPECT_EQ(good("optimizer_type: Adam").weight_decay, 0);
  EXPECT_EQ(good("optimizer_type: AdamW").weight_decay, 0.01);
  EXPECT_EQ(good("optimizer_type: Adam").eps, 1e-8);
  EXPECT_EQ(good("optimizer_type: Adagrad").eps, 1e-10);
  EXPECT_FALSE(good("optimizer_type: Adam").learning_rate);
}

TEST(OptimizerConfig, SchedulesAreReadAsAListOrAsKeys) {
  const OptimizerConfig list = good(
      "optimizer_type: SGD, learning_rate: [{scheduler: Linear, initial_learning_rate: 0, end_learning_rate: "
      "1, steps: 2},"
      " {scheduler: Constant, learning_rate: 0.5}]");
  EXPECT_DOUBLE_EQ(list.learning_rate->value(1), 0.5);
  EXPECT_DOUBLE_EQ(list.learning_rate->value(9), 0.5);
  const std::string map =
      "optimizer: {optimizer_type: SGD, learning_rate: {scheduler: Linear, initial_learning_rate: 0, "
      "end_learning_rate: 1, steps: 2}}";
  EXPECT_DOUBLE_EQ(read(map).config->learning_rate->value(1), 0.5);
  EXPECT_DOUBLE_EQ(read(map, {"optimizer.learning_rate.steps=4"}).config->learning_rate->value(1), 0.25);
}

TEST(OptimizerConfig, LossScalingIsANumberOrDynamic) {
  EXPECT_FALSE(good("optimizer_type: SGD").loss_scaling.dynamic);
  const LossScaling fixed = good("optimizer_type: SGD, loss_scaling_factor: 128").loss_scaling;
  EXPECT_FALSE(fixed.dynamic);
  EXPECT_EQ(fixed.factor, 128);
  const LossScaling dynamic = good(
                                  "optimizer_type: SGD, loss_scaling_factor: dynamic, initial_loss_scale: "
                                  "64, steps_per_increase: 10, "
                                  "max_loss_scale: 256")
                                  .loss_scaling;
  EXPECT_TRUE(dynamic.dynamic);
  EXPECT_EQ(dynamic.factor, 64);
  EXPECT_EQ(dynamic.max, 256);
  EXPECT_EQ(dynamic.steps_per_increase, 10);
  EXPECT_THAT(bad("optimizer_type: SGD, loss_scaling_factor: dinamic"), HasSubstr("did you mean 'dynamic'"));
  EXPECT_THAT(bad("optimizer_type: SGD, loss_scaling_factor: 0"), HasSubstr("above 0"));
  EXPECT_THAT(
      bad("optimizer_type: SGD, loss_scaling_factor: dynamic, initial_loss_scale: 2, min_loss_scale: 4"),
      HasSubstr("begins with 2"));
  EXPECT_THAT(read("optimizer: {optimizer_type: SGD, min_loss_scale: 4}").text,
              HasSubstr("without loss_scaling_factor"));
}

TEST(OptimizerConfig, TheLaterStyleNamesTheOptimizerByASection) {
  const OptimizerConfig c = good("AdamW: {lr: 0.1, betas: [0.7, 0.8], weight_decay: 0}");
  EXPECT_EQ(c.type, OptimizerType::adamw);
  EXPECT_EQ(c.beta1, 0.7);
  EXPECT_EQ(c.beta2, 0.8);
  EXPECT_EQ(c.weight_decay, 0);
  EXPECT_THAT(bad("AdamW: {lr: 0.1}, SGD: {lr: 0.1}"), HasSubstr("two optimizers"));
}

TEST(OptimizerConfig, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(read("optimizer:\n  optimizer_type: SGD\n  momentun: 0.9\n").text,
              AllOf(HasSubstr("model.yaml:4"), HasSubstr("unknown key 'optimizer.momentun'"),
                    HasSubstr("did you mean 'optimizer.momentum'")));
  EXPECT_THAT(bad("optimizer_type: AdamX"),
              AllOf(HasSubstr("unknown optimizer 'AdamX'"), HasSubstr("did you mean 'Adam")));
  EXPECT_THAT(bad("optimizer_type: Adam, beta1: 1"),
              HasSubstr("beta1 is 1, it must be at least 0 and below 1"));
  EXPECT_THAT(bad("optimizer_type: Adam, betas: [0.9]"), HasSubstr("2 numbers"));
  EXPECT_THAT(bad("optimizer_type: Adam, betas: [0.9, 1.5]"), HasSubstr("1.5"));
  EXPECT_THAT(bad("optimizer_type: Adam, betas: [0.9, 0.5], beta1: 0.9"), HasSubstr("the same as 'betas'"));
  EXPECT_THAT(bad("optimizer_type: Adam, eps: 1e-8, epsilon: 1e-6"), HasSubstr("'epsilon' says the same"));
  EXPECT_THAT(bad("optimizer_type: Adam, eps: small"), HasSubstr("optimizer.eps"));
  EXPECT_THAT(bad("optimizer_type: Adam, amsgrad: maybe"), HasSubstr("true or false"));
  EXPECT_THAT(bad("optimizer_type: SGD, weight_decay_rate: -0.1"), HasSubstr("weight_decay_rate is -0.1"));
  EXPECT_THAT(bad("optimizer_type: SGD, max_gradient_norm: .inf"), HasSubstr("finite"));
  EXPECT_THAT(bad("optimizer_type: SGD, max_gradient_norm: 1, max_gradient_value: 1"),
              HasSubstr("not by both"));
  EXPECT_THAT(bad("optimizer_type: SGD, nesterov: true"), HasSubstr("nesterov needs a momentum"));
  EXPECT_THAT(bad("optimizer_type: SGD, learning_rate: {scheduler: Linear, steps: 3}"),
              HasSubstr("needs the key 'initial_learning_rate'"));
}

TEST(OptimizerConfig, WhatTheOptimizerDoesNotUseIsAWarning) {
  const Outcome o = read("optimizer: {optimizer_type: AdamW, momentum: 0.9, warmup_init: false}");
  EXPECT_EQ(o.warnings, 2u) << o.text;
  EXPECT_TRUE(o.config);
  EXPECT_THAT(o.text, AllOf(HasSubstr("'momentum' changes nothing for AdamW"), HasSubstr("'warmup_init'")));
  const Outcome other = read("optimizer: {optimizer_type: AdaFactor, relative_step: false}");
  EXPECT_FALSE(other.config);
  EXPECT_EQ(other.errors, 0u);
  EXPECT_THAT(other.text, HasSubstr("AdaFactor is not built; there are SGD, Adam, AdamW, Adagrad, RMSprop"));
}

}  // namespace
}  // namespace cs::frontend

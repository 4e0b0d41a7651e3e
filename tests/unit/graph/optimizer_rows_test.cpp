// Optimizers, clipping and loss scales against results worked out by hand, and against the golden vectors.
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "interpret.h"
#include "runtime/ops/gradient_scaling.h"
#include "runtime/ops/optimizers.h"
#include "tests/unit/graph/row_cases.h"
#include "tools/cs-regress/golden_check.h"
#include "tools/cs-regress/golden_optim.h"

namespace cs::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor one(float v) { return floats({1}, {v}); }
Tensor scalar(float v) { return floats({}, {v}); }
const std::optional<Tensor> kAbsent;

TEST(Optimizers, Sgd) {
  const Tensor p = one(1), g = one(2), rate = scalar(0.1F);
  const Attrs damped{{"momentum", 0.9}, {"dampening", 0.5}};
  check({
      {"sgd_step", {}, {p, g, rate}, {one(0.8F)}},
      {"sgd_step", {{"maximize", int64_t(1)}}, {p, g, rate}, {one(1.2F)}},
      // 2 + 0.5 * 1 = 2.5
      {"sgd_step", {{"weight_decay", 0.5}}, {p, g, rate}, {one(0.75F)}},
      // 0.9 * 4 + 2 = 5.6
      {"sgd_step", {{"momentum", 0.9}}, {p, g, rate, kAbsent, one(4)}, {one(0.44F), one(5.6F)}},
      // The first gradient enters whole, later ones by half: 0.9 * 4 + 0.5 * 2 = 4.6.
      {"sgd_step", damped, {p, g, rate, scalar(1), one(0)}, {one(0.8F), one(2)}},
      {"sgd_step", damped, {p, g, rate, scalar(2), one(4)}, {one(0.54F), one(4.6F)}},
      // 2 + 0.9 * 5.6 = 7.04
      {"sgd_step",
       {{"momentum", 0.9}, {"nesterov", int64_t(1)}},
       {p, g, rate, kAbsent, one(4)},
       {one(0.296F), one(5.6F)}},
  });
}

// New moments 0.5 * 1 + 0.5 * 2 = 1.5 and 0.6 * 4 + 0.4 * 4 = 4; in step 2 their corrections are 1 - 0.5^2 =
// 0.75 and 1 - 0.6^2 = 0.64.
TEST(Optimizers, Adam) {
  const Tensor p = one(1), g = one(2), rate = scalar(0.1F), step = scalar(2), m = one(1), v = one(4);
  const Attrs betas{{"beta1", 0.5}, {"beta2", 0.6}, {"eps", 0.5}};
  const auto with = [&](const char* name, AttrValue value) {
    Attrs a = betas;
    set_attr(a, name, std::move(value));
    return a;
  };
  Attrs decoupled = with("decoupled", int64_t(1)), post = with("correction", std::string("rate"));
  set_attr(decoupled, "weight_decay", 0.5);
  set_attr(post, "post_decay", 0.5);
  const std::string kRate = "rate", kNone = "none";
  const auto after = [](double v) { return std::vector<Tensor>{one(float(v)), one(1.5F), one(4)}; };
  check({
      // 1.5 / (2 / 0.8 + 0.5) = 0.5
      {"adam_step", betas, {p, g, rate, step, m, v}, after(1 - 0.1 / 0.75 * 0.5)},
      // 1.5 / (2 + 0.5) = 0.6
      {"adam_step", with("correction", kNone), {p, g, rate, kAbsent, m, v}, after(1 - 0.1 * 0.6)},
      {"adam_step", with("correction", kRate), {p, g, rate, step, m, v}, after(1 - 0.1 * 0.8 / 0.75 * 0.6)},
      {"adam_step", with("correction", kRate), {p, g, rate, ints({}, {0}), m, v}, after(1 - 0.1 * 0.6)},
      {"adam_step", post, {p, g, rate, step, m, v}, after(0.5 * (1 - 0.1 * 0.8 / 0.75 * 0.6))},
      // The parameter times 1 - 0.1 * 0.5 first; as a term of the gradient: 0 + 0.5 * 4 = 2.
      {"adam_step", decoupled, {p, g, rate, step, m, v}, after(0.95 - 0.1 / 0.75 * 0.5)},
      {"adam_step",
       with("weight_decay", 0.5),
       {one(4), one(0), rate, step, m, v},
       after(4 - 0.1 / 0.75 * 0.5)},
      // 1.5 / (3 / 0.8 + 0.5)
      {"adam_step",
       with("amsgrad", int64_t(1)),
       {p, g, rate, step, m, v, one(9)},
       {one(float(1 - 0.1 / 0.75 * 1.5 / 4.25)), one(1.5F), one(4), one(9)}},
  });
}

TEST(Optimizers, Adagrad) {
  // 0.1 / (1 + 4 * 0.25) = 0.05; 2 / (3 + 1) = 0.5
  check({{"adagrad_step",
          {{"eps", 1.0}, {"lr_decay", 0.25}},
          {one(1), one(2), scalar(0.1F), scalar(5), one(5)},
          {one(0.975F), one(9)}},
         {"adagrad_step",
          {{"eps", 1.0}},
          {one(1), one(2), scalar(0.1F), kAbsent, one(5)},
          {one(0.95F), one(9)}}});
}

TEST(Optimizers, RmsProp) {
  const Tensor p = one(1), g = one(2), rate = scalar(0.1F);
  const Attrs centered{{"alpha", 0.5}, {"eps", 1.0}, {"centered", int64_t(1)}};
  check({
      // 0.75 * 4 + 0.25 * 4 = 4; 2 / (2 + 2) = 0.5
      {"rmsprop_step", {{"alpha", 0.75}, {"eps", 2.0}}, {p, g, rate, one(4)}, {one(0.95F), one(4)}},
      // 0.5 * 3 + 0.5 = 2
      {"rmsprop_step",
       {{"alpha", 0.75}, {"eps", 2.0}, {"momentum", 0.5}},
       {p, g, rate, one(4), one(3)},
       {one(0.8F), one(4), one(2)}},
      // 0.5 * 6 + 0.5 * 4 = 5, less the square of 0.5 * 2 + 0.5 * 2; 2 / (1 + 1) = 1
      {"rmsprop_step", centered, {p, g, rate, one(6), kAbsent, one(2)}, {one(0.9F), one(5), one(1), one(2)}},
      // What rounding makes less than 0 is 0: 2 / (0 + 1).
      {"rmsprop_step", centered, {p, g, rate, one(0), kAbsent, one(4)}, {one(0.8F), one(2), one(2), one(3)}},
  });
}

TEST(Optimizers, SixteenBitsAreComputedInThirtyTwo) {
  Tensor p(TensorType{DataType::f16, {1}}), g = p;
  p.set(0, 1);
  g.set(0, 0x1p-10);
  Tensor after = p;
  // 1 - 2^-12 has no place in 16 bits, the buffer of 32 bits has 0.9 * 2^-11 + 2^-10.
  check({{"sgd_step",
          {{"momentum", 0.9}},
          {p, g, scalar(0.125F), kAbsent, one(0x1p-11F)},
          {after, one(0.9F * 0x1p-11F + 0x1p-10F)}}});
}

std::string refusal(const Case& c) {
  std::vector<const TensorType*> types;
  for (const auto& t : c.operands) types.push_back(t ? &t->type : nullptr);
  std::vector<TensorType> outputs;
  std::string error;
  EXPECT_FALSE(infer_types(*find_op(c.op), c.attrs, types, outputs, error)) << c.op;
  return error;
}

TEST(Optimizers, WhatAStepNeedsMustBeThere) {
  const Tensor p = one(1), rate = scalar(1);
  EXPECT_THAT(refusal({"sgd_step", {{"momentum", 0.9}}, {p, p, rate}, {}}),
              HasSubstr("'momentum_buffer' is missing"));
  EXPECT_THAT(refusal({"adam_step", {}, {p, p, rate, kAbsent, p, p}, {}}), HasSubstr("'step' is missing"));
  EXPECT_THAT(refusal({"adam_step", {{"amsgrad", int64_t(1)}}, {p, p, rate, rate, p, p}, {}}),
              HasSubstr("amsgrad"));
  EXPECT_THAT(refusal({"adam_step", {{"beta1", 1.0}}, {p, p, rate, rate, p, p}, {}}),
              HasSubstr("beta1 is 1"));
  EXPECT_THAT(refusal({"adam_step", {{"correction", std::string("half")}}, {p, p, rate, rate, p, p}, {}}),
              HasSubstr("'half'"));
  EXPECT_THAT(refusal({"sgd_step", {}, {p, floats({2}, {1, 2}), rate}, {}}), HasSubstr("f32[2]"));
  EXPECT_THAT(refusal({"sgd_step", {}, {p, p, floats({2}, {1, 2})}, {}}), HasSubstr("one number"));
}

TEST(Optimizers, TheirNeedsFollowFromAttributes) {
  const auto needs = [](const char* row, const Attrs& attrs) {
    return optimizer_needs(*find_op(row), attrs);
  };
  EXPECT_TRUE(needs("sgd_step", {}).state.empty());
  EXPECT_FALSE(needs("sgd_step", {{"momentum", 0.9}}).step);
  EXPECT_THAT(needs("adam_step", {{"amsgrad", int64_t(1)}}).state,
              ElementsAre("exp_avg", "exp_avg_sq", "max_exp_avg_sq"));
  EXPECT_TRUE(needs("adam_step", {}).step);
  EXPECT_THAT(needs("rmsprop_step", {{"centered", int64_t(1)}}).state, ElementsAre("square_avg", "grad_avg"));
  EXPECT_TRUE(is_optimizer(*find_op("rmsprop_step")));
  EXPECT_FALSE(is_optimizer(*find_op("add")));
}

// ---- what comes before them

class GradientScaling : public ::testing::Test {
 protected:
  Tensor value(const std::string& name) {
    std::map<std::string, Tensor> all = values_;
    for (const DecompositionStep& step : list_) {
      std::vector<const Tensor*> operands;
      for (const std::string& o : step.operands) operands.push_back(&all.at(o));
      std::vector<Tensor> made;
      Diag diag;
      EXPECT_TRUE(evaluate(*find_op(step.op), step.attrs, operands, made, diag)) << diag.to_string();
      for (size_t k = 0; k < step.results.size(); ++k) all[step.results[k]] = made.at(k);
    }
    return all.at(name);
  }
  std::vector<float> list(const std::string& name) { return value(name).to_floats(); }
  std::map<std::string, Tensor> values_;
  std::vector<DecompositionStep> list_;
  Steps steps_{list_};
};

TEST_F(GradientScaling, AreClippedByTheNormOfAllOfThem) {
  values_ = {{"a", floats({2}, {3, 0})}, {"b", floats({1, 1}, {-4})}};
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_FLOAT_EQ(float(value(global_norm(steps_, names)).get(0)), 5);
  const auto half = clip_by_global_norm(steps_, names, 2.5), same = clip_by_global_norm(steps_, names, 10);
  EXPECT_THAT(list(half[0]), ElementsAre(::testing::FloatNear(1.5F, 1e-6F), 0));
  EXPECT_THAT(list(half[1]), ElementsAre(::testing::FloatNear(-2, 1e-6F)));
  EXPECT_THAT(list(same[0]), ElementsAre(3, 0));
  const auto limited = clip_by_value(steps_, names, 3.5);
  EXPECT_THAT(list(limited[0]), ElementsAre(3, 0));
  EXPECT_THAT(list(limited[1]), ElementsAre(-3.5F));
}

TEST_F(GradientScaling, OfZerosAreNotDivided) {
  values_ = {{"a", floats({2}, {0, 0})}};
  EXPECT_THAT(list(clip_by_global_norm(steps_, std::vector<std::string>{"a"}, 1)[0]), ElementsAre(0, 0));
}

TEST_F(GradientScaling, ThatOverflowedChangeNothing) {
  values_ = {{"fine", floats({2}, {1, -3e38F})},
             {"nan", floats({2}, {1, std::numeric_limits<float>::quiet_NaN()})},
             {"large", floats({2, 1}, {-std::numeric_limits<float>::infinity(), 1})},
             {"old", one(1)},
             {"new", one(std::numeric_limits<float>::quiet_NaN())}};
  const auto any = [&](std::vector<std::string> names) { return any_not_finite(steps_, names); };
  EXPECT_THAT(list(any({"fine"})), ElementsAre(0));
  const std::string bad = any({"fine", "nan"});
  EXPECT_THAT(list(bad), ElementsAre(1));
  EXPECT_THAT(list(any({"large", "fine"})), ElementsAre(1));
  EXPECT_THAT(list(keep_if(steps_, bad, "old", "new")), ElementsAre(1));
  EXPECT_THAT(list(keep_if(steps_, any({"fine"}), "new", "old")), ElementsAre(1));
}

TEST(LossScale, UnscalingWidensFirst) {
  Tensor g(TensorType{DataType::f16, {1}});
  g.set(0, 0x1p-20);  // 2^-20 / 2^15 is less than any 16-bit float
  check({{"unscale", {}, {g, scalar(32768)}, {one(0x1p-35F)}}});
}

TEST(LossScale, HalvesAfterAnOverflowAndGrowsAfterGoodSteps) {
  const Attrs attrs{{"interval", int64_t(3)}, {"min_scale", 1.0}, {"max_scale", 16.0}};
  const auto step = [&](float scale, float good, float overflow, float new_scale, float new_good) {
    return Case{"loss_scale_step",
                attrs,
                {scalar(scale), scalar(good), scalar(overflow)},
                {scalar(new_scale), scalar(new_good)}};
  };
  check({step(8, 0, 0, 8, 1), step(8, 1, 0, 8, 2), step(8, 2, 0, 16, 0), step(16, 2, 0, 16, 0),
         step(8, 2, 1, 4, 0), step(1, 0, 1, 1, 0)});
}

}  // namespace
}  // namespace cs::ops

namespace cs::golden {
namespace {

TEST(GoldenOptimizers, HostEvaluationAgreesWithEveryCase) {
  Diag diag;
  const auto collection = read_collection(std::string(CS_SOURCE_DIR) + "/tests/golden/optim", diag);
  ASSERT_TRUE(collection) << diag.to_string();
  for (const Case& c : collection->cases)
    for (const DataType dtype : {DataType::f32, DataType::f16}) {
      if (dtype == DataType::f16 && c.quant != "f16") continue;
      CaseGraph g(c, dtype);
      ASSERT_TRUE(build_optimizer(c, g)) << c.id << ": " << g.error();
      std::map<std::string, ops::Tensor> inputs;
      for (const NamedArray& a : g.inputs) inputs[a.name] = a.tensor;
      const auto outputs = graph::interpret(g.graph, inputs);
      for (const auto& [name, t] : c.tensors) {
        if (t.role != "expected") continue;
        const Verdict v = check_output(outputs.at(name), t.tensor, c.floors.at(name), Accuracy::optimizer,
                                       dtype, {}, 1, {});
        EXPECT_TRUE(v.ok) << c.id << " " << name << ": " << v.mismatch;
      }
    }
}

TEST(GoldenOptimizers, WhatACaseDoesNotSayRightIsAnError) {
  Diag diag;
  const auto collection = read_collection(std::string(CS_SOURCE_DIR) + "/tests/golden/optim", diag);
  ASSERT_TRUE(collection) << diag.to_string();
  const auto error = [&](auto change) {
    Case c = collection->cases.at(0);
    change(c);
    CaseGraph g(c, DataType::f32);
    EXPECT_FALSE(build_optimizer(c, g));
    return g.error();
  };
  EXPECT_NE(error([](Case& c) { c.options["warmth"] = 2; }).find("warmth"), std::string::npos);
  EXPECT_NE(error([](Case& c) { c.options.erase("lr"); }).find("'lr'"), std::string::npos);
  EXPECT_NE(error([](Case& c) { c.op = "Lion"; }).find("'Lion'"), std::string::npos);
  EXPECT_NE(
      error([](Case& c) { c.tensors["state.warmth"] = c.tensors.at("param.step1"); }).find("state.warmth"),
      std::string::npos);
}

}  // namespace
}  // namespace cs::golden

// Losses of one's own from C++: nothing but the one header is needed to say and to mark one.
#include "tools/api/losses.h"

#include <gmock/gmock.h>

namespace cs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Loss kFocal{.name = "Focal",
                  .inputs = {"logits", "targets"},
                  .args = {{"alpha", 0.25}, {"gamma", 2}},
                  .expr =
                      "p = sigmoid(logits)\n"
                      "ce = softplus(logits) - targets * logits\n"
                      "pt = p * targets + (1 - p) * (1 - targets)\n"
                      "alpha * (1 - pt)^gamma * ce"};

ops::Tensor floats(const std::vector<double>& v) {
  ops::Tensor t(ops::TensorType{DataType::f32, {2, 3}});
  for (size_t i = 0; i < v.size(); ++i) t.set(int64_t(i), v[i]);
  return t;
}

struct Built {
  graph::Graph g;
  Diag diag;
  graph::ValueId loss;
  explicit Built(const Loss& l, const LossOptions& options, ops::Shape targets = {2, 3}) {
    const graph::ValueId x = g.add_input("x", {DataType::f32, {2, 3}}),
                         t = g.add_input("t", {DataType::f32, targets});
    loss = add_loss(g, l, {x, t}, options, diag);
  }
  const graph::Node& node() const { return g.node(g.value(loss).producer); }
};

TEST(AutogenLoss, ComputesItsFormulaWithTheArgumentsOfTheUse) {
  Built b(autogen_loss(kFocal), {.use_autogen = true, .args = {{"alpha", 0.5}}});
  ASSERT_TRUE(b.loss.valid()) << b.diag.to_string();
  b.g.set_output(b.loss);
  EXPECT_TRUE(graph::verify(b.g, b.diag)) << b.diag.to_string();
  EXPECT_EQ(b.diag.to_string(), "");
  std::vector<ops::Tensor> y;
  ASSERT_TRUE(ops::evaluate(*ops::find_op(b.node().op), b.node().attrs,
                            {floats({0.5, -1, 2, 1, 0.25, -0.75}), floats({0, 1, 1, 1, 0, 1})}, y, b.diag));
  EXPECT_NEAR(y[0].get(0), 0.157432791, 1e-6);  // PyTorch 1.13 in float64
}

TEST(AutogenLoss, DefinitionAndUseMustBothAsk) {
  for (const bool marked : {false, true}) {
    for (const bool asked : {false, true}) {
      Built b(marked ? autogen_loss(kFocal) : kFocal, {.use_autogen = asked});
      ASSERT_TRUE(b.loss.valid()) << b.diag.to_string();
      EXPECT_EQ(ops::attr_int(*ops::find_op(b.node().op), b.node().attrs, "use_autogen"),
                marked && asked ? 1 : 0);
      EXPECT_EQ(b.diag.warnings(), marked == asked ? 0u : 1u) << b.diag.to_string();
    }
  }
}

TEST(AutogenLoss, WhatIsWrongIsSaid) {
  Built unknown(kFocal, {.args = {{"alhpa", 1}}});
  EXPECT_FALSE(unknown.loss.valid());
  EXPECT_THAT(unknown.diag.to_string(),
              AllOf(HasSubstr("no argument 'alhpa'"), HasSubstr("did you mean 'alpha'?")));
  Built shapes(kFocal, {}, {2, 4});
  EXPECT_FALSE(shapes.loss.valid());
  EXPECT_THAT(shapes.diag.to_string(), AllOf(HasSubstr("line 3, column 8"), HasSubstr("broadcast")));
  Loss typo = kFocal;
  typo.expr = "sigmoyd(logits)";
  EXPECT_THAT(Built(typo, {}).diag.to_string(), HasSubstr("did you mean 'sigmoid'?"));
}

}  // namespace
}  // namespace cs

// Losses of model configurations: what they compute, against PyTorch 1.13 in float64 (torch.nn classes and
// torch.nn.functional, on the operands below), and complaints.
#include "compiler/frontend/loss_config.h"

#include <gmock/gmock.h>

#include "compiler/graph/gradients.h"
#include "tests/unit/graph/interpret.h"

namespace cs::frontend {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Values = std::map<std::string, ops::Tensor>;

ops::Tensor tensor(DataType dtype, ops::Shape shape, const std::vector<double>& v) {
  ops::Tensor t(ops::TensorType{dtype, std::move(shape)});
  for (size_t i = 0; i < v.size(); ++i) t.set(int64_t(i), v[i]);
  return t;
}
ops::Tensor floats(ops::Shape shape, const std::vector<double>& v) {
  return tensor(DataType::f32, std::move(shape), v);
}
ops::Tensor ints(ops::Shape shape, const std::vector<double>& v) {
  return tensor(DataType::i32, std::move(shape), v);
}

const ops::Tensor kX = floats({2, 3}, {0.5, -1, 2, 1, 0.25, -0.75}), kT = floats({2, 3}, {0, 1, 1, 1, 0, 1}),
                  kOther = floats({2, 3}, {1, 0.5, -1, 2, -0.25, 0.75}),
                  kSigns = floats({2, 3}, {1, -1, 1, -1, 1, -1}),
                  kInside = floats({2, 3}, {0.25, 0.5, 0.125, 0.75, 0.5, 0.875}),
                  kShares = floats({2, 3}, {0.2, 0.3, 0.5, 0.6, 0.4, 0}), kClasses = ints({2}, {2, 0}),
                  kSteps = floats({2, 2, 3}, {0.5, -1, 2, 1, 0.25, -0.75, 0, 0.5, 1, 0.1, 0.2, 0.3}),
                  kTokens = ints({2, 2}, {2, -100, 1, 0});

struct Outcome {
  graph::Graph g;
  graph::ValueId loss;
  std::string text;
  size_t errors = 0, warnings = 0;
};

// The loss of a configuration behind outputs of these types.
Outcome outcome(const std::string& yaml,
                const std::vector<std::pair<std::string, ops::TensorType>>& outputs) {
  Diag diag;
  Outcome out;
  const auto doc = YamlDoc::parse_text(yaml, "model.yaml", diag);
  auto c = doc ? ModelConfig::read("model.yaml", doc->root(), {}, diag) : std::nullopt;
  EXPECT_TRUE(c) << diag.to_string();
  if (!c) return out;
  for (const auto& [name, type] : outputs) {
    // An output is a node's.
    graph::Node node;
    node.name = name + "_head";
    node.op = "identity";
    node.inputs = {out.g.add_input(name + "_in", type)};
    const graph::NodeId id = out.g.add_node(std::move(node));
    out.g.set_output(out.g.add_result(id, name));
    EXPECT_TRUE(graph::infer_node(out.g, id, diag));
  }
  out.loss = add_loss(*c, out.g, outputs[0].second.shape[0], diag);
  out.text = diag.to_string();
  out.errors = diag.errors();
  out.warnings = diag.warnings();
  return out;
}
Outcome outcome(const std::string& yaml, const ops::Tensor& logits = kX) {
  return outcome(yaml, {{"logits", logits.type}});
}

double value(Outcome o, Values given) {
  EXPECT_EQ(o.text, "");
  if (!o.loss.valid()) return NAN;
  const std::string name = o.g.value(o.loss).name;
  o.g.set_output(o.loss);
  Diag diag;
  EXPECT_TRUE(graph::verify(o.g, diag)) << diag.to_string();
  return interpret(o.g, std::move(given)).at(name).get(0);
}
double value(const std::string& loss, const ops::Tensor& logits, Values given) {
  given["logits_in"] = logits;
  return value(outcome("model: {name: mlp, loss: {type: " + loss + "}}", logits), std::move(given));
}

std::string complaint(const std::string& yaml, const ops::Tensor& logits = kX) {
  const Outcome o = outcome(yaml, logits);
  EXPECT_FALSE(o.loss.valid());
  EXPECT_GT(o.errors, 0u) << yaml;
  return o.text;
}

struct Case {
  const char* loss;
  ops::Tensor x;
  Values inputs;
  double expected;
};

TEST(LossConfig, EveryLossComputesWhatTorchDoes) {
  const Values t = {{"target", kT}}, classes = {{"target", kClasses}};
  const Case cases[] = {
      {"BCELoss, weight: [0.5, 1, 2]", kInside, t, 1.01665372},
      {"BCEWithLogitsLoss, weight: [0.5, 1, 2], pos_weight: [1, 2, 3], reduction: sum", kX, t, 11.6789262},
      {"CosineEmbeddingLoss, margin: 0.1",
       kX,
       {{"input2", kOther}, {"target", floats({2}, {1, -1})}},
       0.991735601},
      {"CrossEntropyLoss, weight: [0.5, 1, 2], label_smoothing: 0.1", kX, classes, 0.404650244},
      {"CrossEntropyLoss, ignore_index: 2, reduction: sum", kX, classes, 0.498433455},
      {"CrossEntropyLoss, class_targets: probabilities", kX, {{"target", kShares}}, 1.11987238},
      {"CrossEntropyLoss", kSteps, {{"target", kTokens}}, 0.874507939},
      {"GaussianNLLLoss, full: True",
       kX,
       {{"target", kT}, {"var", floats({2, 3}, {0.5, 1, 2, 1, 1.5, 0.25})}},
       2.27817498},
      {"HingeEmbeddingLoss, margin: 1.5", kX, {{"target", kSigns}}, 1.33333333},
      {"HuberLoss, delta: 0.5", kX, t, 0.359375},
      {"KLDivLoss, reduction: batchmean", kX, {{"target", kShares}}, -1.60133234},
      {"L1Loss", kX, t, 0.916666667},
      {"MSELoss, size_average: false", kX, t, 8.375},
      {"MarginRankingLoss, margin: 0.5", kX, {{"input2", kOther}, {"target", kSigns}}, 0.166666667},
      {"MultiLabelSoftMarginLoss, weight: [0.5, 1, 2]", kX, t, 0.88507808},
      {"MultiMarginLoss, p: 2, margin: 0.8, weight: [0.5, 1, 2]", kX, classes, 0.000208333333},
      {"NLLLoss, weight: [0.5, 1, 2]", kX, classes, -1.8},
      {"PoissonNLLLoss, full: true", kX, {{"target", floats({2, 3}, {0, 1, 3, 2, 0, 1})}}, 1.67436977},
      {"SmoothL1Loss, beta: 0.3", kX, t, 0.792361111},
      {"TripletMarginLoss, margin: 0.7, swap: true",
       kX,
       {{"positive", kOther}, {"negative", kT}},
       1.65502254},
      {"TripletMarginWithDistanceLoss, margin: 0.7, distance_function: cosine",
       kX,
       {{"positive", kOther}, {"negative", kT}},
       0.963819648},
      {"TripletMarginWithDistanceLoss, margin: 0.7, distance: \"1 - sum(a * b, axis=last) / "
       "sqrt(sum(a^2, axis=last) * sum(b^2, axis=last))\"",
       kX,
       {{"positive", kOther}, {"negative", kT}},
       0.963819648},
      {"TripletMarginWithDistanceLoss, margin: 0.7, swap: true, distance: \"norm_sqrt(sum((a - b)^2, "
       "axis=last))\"",
       kX,
       {{"positive", kOther}, {"negative", kT}},
       1.65502283},
      // Log-probabilities are made of logits inside.
      {"CTCLoss, max_target_length: 2",
       floats({2, 4, 3},
              {0.5, -1, 2, 1, 0.25, -0.75, 0, 0.5, 1, 0.1, 0.2, 0.3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.5, 0.5, 0}),
       {{"targets", ints({2, 2}, {1, 2, 2, 0})},
        {"input_lengths", ints({2}, {4, 3})},
        {"target_lengths", ints({2}, {2, 1})}},
       1.50073278}};
  for (const Case& c : cases) EXPECT_NEAR(value(c.loss, c.x, c.inputs), c.expected, 3e-6) << c.loss;
}

TEST(LossConfig, NamesAreReadInAnyCaseWithAndWithoutPrefix) {
  for (const char* name : {"HuberLoss", "Loss.HuberLoss", "huberloss", "LOSS.HUBERLOSS"})
    EXPECT_NEAR(value(std::string(name) + ", delta: 0.5", kX, {{"target", kT}}), 0.359375, 1e-6) << name;
  // Only a name.
  EXPECT_NEAR(value(outcome("model: {loss: L1Loss}"), {{"logits_in", kX}, {"target", kT}}), 0.916666667,
              1e-6);
}

TEST(LossConfig, ALossIsTheSumOfAList) {
  const std::string list = "[{type: L1Loss, factor: 0.1}, MSELoss]";
  for (const std::string& yaml : {"losses: " + list, "model: {loss: " + list + "}"})
    EXPECT_NEAR(value(outcome(yaml), {{"logits_in", kX}, {"target", kT}}), 1.4875, 1e-6) << yaml;
  // Each has its own output and targets.
  Outcome o = outcome(
      "losses: [{type: L1Loss, output: b, target: b_target}, {type: MSELoss, reduction: sum, output: a}]",
      {{"a", kX.type}, {"b", kX.type}});
  EXPECT_NEAR(value(std::move(o), {{"a_in", kX}, {"target", kT}, {"b_in", kX}, {"b_target", kT}}),
              0.916666667 + 8.375, 1e-5);
}

TEST(LossConfig, WithoutOneANetworkHasThatOfItsKind) {
  const Values tokens = {{"logits_in", kSteps}, {"target", kTokens}};
  EXPECT_NEAR(value(outcome("model: {name: gpt2}", kSteps), tokens), 0.874507939, 1e-6);
  EXPECT_NEAR(value(outcome("model: {loss_scaling: batch_size, loss_weight: 0.5}", kSteps), tokens),
              0.655880954, 1e-6);
  EXPECT_NEAR(value(outcome("model: {label_smoothing: 0.2}", kSteps), tokens), 0.967841272, 1e-6);
  const Outcome bert =
      outcome("model: {mlm_loss_weight: 0.5}", {{"mlm_logits", kSteps.type}, {"nsp_logits", kX.type}});
  EXPECT_NEAR(value(bert, {{"mlm_logits_in", kSteps},
                           {"mlm_target", kTokens},
                           {"nsp_logits_in", kX},
                           {"nsp_target", kClasses}}),
              0.807126345, 1e-6);
  EXPECT_THAT(complaint("model: {loss_scaling: num_token}", kSteps), HasSubstr("did you mean 'num_tokens'?"));
}

// Weights of classes are no weights of the network, and 16-bit outputs have an f32 loss.
TEST(LossConfig, WhatItAddsIsNotTrained) {
  const Outcome o =
      outcome("model: {loss: {type: NLLLoss, weight: [0.5, 1, 2]}}", {{"logits", {DataType::f16, {2, 3}}}});
  ASSERT_TRUE(o.loss.valid()) << o.text;
  EXPECT_TRUE(o.g.constants.empty());
  EXPECT_EQ(o.g.value(o.loss).type, (ops::TensorType{DataType::f32, {}}));
}

TEST(LossConfig, UseAutogenIsAnAttributeOfLossAndGradient) {
  for (const bool on : {false, true}) {
    Outcome o =
        outcome(std::string("model: {loss: {type: MSELoss, use_autogen: ") + (on ? "true}}" : "False}}"));
    ASSERT_TRUE(o.loss.valid()) << o.text;
    Diag diag;
    const graph::ValueId one = o.g.add_constant("one", floats({}, {1})), logits = *o.g.find_value("logits");
    const std::pair<graph::ValueId, graph::ValueId> from[] = {{o.loss, one}};
    std::vector<graph::ValueId> gradients;
    ASSERT_TRUE(graph::add_gradients(o.g, from, std::span(&logits, 1), gradients, diag)) << diag.to_string();
    for (const graph::ValueId v : {o.loss, gradients[0]}) {
      const graph::Node& n = o.g.node(o.g.value(v).producer);
      EXPECT_EQ(ops::attr_int(*ops::find_op(n.op), n.attrs, "use_autogen"), on ? 1 : 0) << n.op;
      EXPECT_EQ(n.from, "") << n.op;
    }
  }
}

TEST(LossConfig, WhatIsWrongIsNamedWithItsLine) {
  const auto of = [](const std::string& loss) { return complaint("model:\n  loss: {" + loss + "}\n"); };
  EXPECT_THAT(of("type: HuberLos"), AllOf(HasSubstr("model.yaml:2:16"), HasSubstr("unknown loss 'HuberLos'"),
                                          HasSubstr("did you mean 'HuberLoss'?")));
  EXPECT_THAT(of("type: HuberLoss, dleta: 1"),
              AllOf(HasSubstr("HuberLoss has no key 'dleta'"), HasSubstr("'delta'")));
  EXPECT_THAT(of("type: MSELoss, margin: 1"), HasSubstr("MSELoss has no key 'margin'"));
  EXPECT_THAT(of("type: TripletMarginWithDistanceLoss, distance: cosin"),
              HasSubstr("did you mean 'cosine'?"));
  EXPECT_THAT(of("type: TripletMarginWithDistanceLoss, distance: \"sum(a - c)\""),
              AllOf(HasSubstr("model.yaml:2:66"), HasSubstr("there is no 'c'")));
  EXPECT_THAT(of("delta: 1"), HasSubstr("'type' is missing"));
  EXPECT_THAT(of("type: HuberLoss, delta: -1"), HasSubstr("delta must be greater than 0"));
  EXPECT_THAT(of("type: HuberLoss, delta: wide"), HasSubstr("must be a number"));
  EXPECT_THAT(of("type: MSELoss, reduction: average"), HasSubstr("there are mean, sum, none"));
  EXPECT_THAT(of("type: MSELoss, reduction: none"), HasSubstr("what is trained is one number"));
  EXPECT_THAT(of("type: MSELoss, use_autogen: maybe"), HasSubstr("use_autogen must be true or false"));
  EXPECT_THAT(of("type: NLLLoss, weight: [1, 2]"),
              HasSubstr("weight has 2 numbers, the last dimension of the output 3"));
  EXPECT_THAT(of("type: MSELoss, output: logit"), HasSubstr("did you mean 'logits'?"));
  EXPECT_THAT(complaint("losses: [{type: MSELoss}, {type: NLLLoss}]\n"),
              HasSubstr("'target' gives it another name"));
  EXPECT_THAT(complaint("losses: [MSELoss]\nmodel: {loss: MSELoss}\n"),
              HasSubstr("put all of them into the list"));
}

// ---- losses of one's own

const std::string kFocal =
    "custom_losses:\n"
    "  - name: Focal\n"
    "    autogen: true\n"
    "    args: {alpha: 0.25, gamma: 2.0}\n"
    "    inputs: [logits, targets]\n"
    "    expr: |\n"
    "      p = sigmoid(logits)\n"
    "      ce = softplus(logits) - targets * logits\n"
    "      pt = p * targets + (1 - p) * (1 - targets)\n"
    "      alpha * (1 - pt)^gamma * ce\n";

TEST(CustomLoss, AFormulaWithArgumentsIsALoss) {
  const Values in = {{"logits_in", kX}, {"targets", kT}};
  EXPECT_NEAR(value(outcome(kFocal + "model: {loss: {type: focal, alpha: 0.5, use_autogen: true}}"), in),
              0.157432791, 1e-6);
  EXPECT_NEAR(value(outcome(kFocal + "model: {loss: {type: Focal, reduction: sum, use_autogen: true}}"), in),
              0.472298372, 1e-6);
  // Indices of classes, and a formula that reduces by itself.
  const std::string indices =
      "custom_losses: [{name: Picked, inputs: [x, classes], expr: 'q = pick(softmax(x, axis=class), "
      "classes)\n\n"
      "    mean(-(1 - q)^2 * log(q))'}]\nmodel: {loss: Picked}\n";
  EXPECT_NEAR(value(outcome(indices), {{"logits_in", kX}, {"classes", kClasses}}), 0.0439433767, 1e-6);
}

TEST(CustomLoss, BothSwitchesAreNeededForOneKernel) {
  for (const bool marked : {false, true}) {
    for (const bool asked : {false, true}) {
      std::string yaml =
          kFocal + "model:\n  loss: {type: Focal, use_autogen: " + (asked ? "true" : "false") + "}\n";
      if (!marked) yaml.replace(yaml.find("autogen: true"), 13, "autogen: false");
      const Outcome o = outcome(yaml);
      ASSERT_TRUE(o.loss.valid()) << o.text;
      const graph::Node& n = o.g.node(o.g.value(o.loss).producer);
      EXPECT_EQ(ops::attr_int(*ops::find_op(n.op), n.attrs, "use_autogen"), marked && asked ? 1 : 0);
      EXPECT_EQ(o.warnings, marked == asked ? 0u : 1u) << o.text;
      if (marked == asked) continue;
      EXPECT_THAT(o.text, HasSubstr("model.yaml:12"));
      EXPECT_THAT(o.text, HasSubstr(asked ? "autogen: true, ..." : "use_autogen: true where it is used"));
    }
  }
}

// Without the mark it is looked for in the catalogue.
TEST(CustomLoss, AMismatchShowsExpectedAndFound) {
  const auto of = [](const std::string& expr) {
    return outcome("custom_losses: [{name: Mine, inputs: [a, b], expr: \"" + expr +
                   "\"}]\nmodel: {loss: {type: Mine, use_autogen: true}}");
  };
  const Outcome same = of("(a - b)^2"), other = of("(a - b)^4");
  EXPECT_EQ(same.text, "");
  const graph::Node& n = same.g.node(same.g.value(same.loss).producer);
  EXPECT_EQ(ops::attr_int(*ops::find_op(n.op), n.attrs, "use_autogen"), 1);
  EXPECT_THAT(other.text, AllOf(HasSubstr("graph mismatch"),
                                HasSubstr("nearest is MSELoss: operation 3 expected "
                                          "reduce_mean(%2)"),
                                HasSubstr("found square(%2)"), HasSubstr("mark it autogen: true")));
}

TEST(CustomLoss, ErrorsStandWhereTheFormulaDoes) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string yaml = kFocal + "model: {loss: {type: Focal, use_autogen: true}}";
    yaml.replace(yaml.find(from), from.size(), to);
    return complaint(yaml);
  };
  EXPECT_THAT(with("softplus(", "softpluss("),
              AllOf(HasSubstr("model.yaml:8:12: error"), HasSubstr("'softplus'")));
  EXPECT_THAT(with("softplus(", "softpluss("), Not(HasSubstr("unknown loss")));
  EXPECT_THAT(with("- targets * logits", "- sum(targets, axis=batch) * sum(logits, axis=last)"),
              AllOf(HasSubstr("model.yaml:8:56: error"), HasSubstr("do not broadcast")));
  EXPECT_THAT(with("alpha * ", "beta * "),
              AllOf(HasSubstr("model.yaml:10:7"), HasSubstr("there is no 'beta'")));
  EXPECT_THAT(with("gamma: 2.0", "gamma: two"),
              AllOf(HasSubstr("model.yaml:4"), HasSubstr("must be a number")));
  EXPECT_THAT(with("gamma: 2.0", "factor: 2"), HasSubstr("'factor' is a key of every loss"));
  EXPECT_THAT(with("name: Focal", "name: MSELoss"), HasSubstr("is the name of another loss"));
  EXPECT_THAT(with("inputs:", "input:"), HasSubstr("needs 'inputs'"));
  EXPECT_THAT(with("{type: Focal,", "{type: Focal, aplha: 1,"), HasSubstr("did you mean 'alpha'?"));
  // A formula in quotes on the line of its key.
  EXPECT_THAT(complaint("custom_losses: [{name: A, inputs: [x], expr: \"x + z\"}]\nmodel: {loss: A}\n"),
              AllOf(HasSubstr("model.yaml:1:51: error"), HasSubstr("there is no 'z'")));
}

}  // namespace
}  // namespace cs::frontend

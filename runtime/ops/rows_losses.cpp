// Losses, with the options and meanings of torch.nn. Each is a compound row whose `decomposition` is a
// formula (formula.h), so its gradient is that of the steps; where that is not the gradient which everyone
// uses, the formula calls a row with a derivative of its own, and those rows stand here too.
//
// Class scores are (N, C, d1, ...) or (C). A target of integers holds indices of classes, one of
// floating-point numbers probabilities of them. An index that no class has counts as no class; ignore_index
// also leaves it out of the mean. CTCLoss is in rows_ctc.cpp.
#include <fmt/format.h>

#include "runtime/ops/formula.h"
#include "runtime/ops/losses.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

// What ends most formulas: the loss `l` of every element, and what `reduction` makes of it.
std::string reduced(const std::string& formula, const std::string& mean = "mean(l)") {
  return fmt::format(
      "{}\ny = select(reduction == \"mean\", {}, select(reduction == \"sum\", sum(l), select(reduction == "
      "\"none\", l, fail(\"reduction must be mean, sum or none\"))))",
      formula, mean);
}

// Rows keep views of their texts, so these live as long as the table.
OpDef loss(std::string_view name, Names operands, int optional, AttrDefs attrs, const std::string& formula) {
  attrs.push_back(text("reduction", "mean"));
  attrs.push_back(integer(kUseAutogen, 0));
  OpDef d = by_steps(name, {}, std::move(operands), optional, std::move(attrs), shape_formula, steps_formula);
  d.decomposition = formula;
  d.loss = true;
  return d;
}

void add_own_derivatives(Rows& t) {
  t.push_back(noted(
      unary("clip_through", {}, {real("min", -kInf), real("max", kInf)}, "min(max(x, min), max)", "1", 0),
      "clip whose gradient passes through, also where it holds x"));
  t.push_back(noted(unary("norm_sqrt", {}, {}, "sqrt(x)", "select(y == 0, 0, 0.5 / y)", 1),
                    "the root of a norm: the gradient of a norm at 0 is 0"));
  OpDef bce = binary("binary_cross_entropy", {}, "-(t * max(log(x), -100) + (1 - t) * max(log(1 - x), -100))",
                     "(x - t) / max(x * (1 - x), 1e-12); max(log(1 - x), -100) - max(log(x), -100)", 8);
  bce.operands = {"x", "t"};
  t.push_back(noted(bce, "logarithms are at least -100; the gradient stays finite where x is 0 or 1"));
}

// ---- losses of pairs of elements

void add_elementwise(Rows& t) {
  const Names pair = {"input", "target"};
  static const std::string kL1 = reduced("l = abs(input - target)");
  t.push_back(loss("l1_loss", pair, 0, {}, kL1));
  static const std::string kMse = reduced("l = (input - target)^2");
  t.push_back(loss("mse_loss", pair, 0, {}, kMse));
  static const std::string kHuber = reduced(
      "d = select(delta > 0, input - target, fail(\"delta must be greater than 0\"))\n"
      "l = select(abs(d) <= delta, 0.5 * d^2, delta * (abs(d) - 0.5 * delta))");
  t.push_back(loss("huber_loss", pair, 0, {real("delta", 1)}, kHuber));
  static const std::string kSmoothL1 = reduced(
      "d = select(beta >= 0, input - target, fail(\"beta must not be negative\"))\n"
      "l = select(beta == 0, abs(d), select(abs(d) < beta, d^2 * (0.5 / beta), abs(d) - 0.5 * beta))");
  t.push_back(loss("smooth_l1_loss", pair, 0, {real("beta", 1)}, kSmoothL1));

  const std::string same =
      "x = select(same(input, target), input, fail(\"input and target must have the same shape\"))\n";
  static const std::string kBce = reduced(same +
                                          "b = binary_cross_entropy(x, target)\n"
                                          "l = select(given(weight), weight * b, b)");
  t.push_back(loss("bce_loss", {"input", "target", "weight"}, 1, {}, kBce));
  static const std::string kBceLogits =
      reduced(same +
              "p = select(given(pos_weight), (1 + (pos_weight - 1) * target) * softplus(-x), softplus(-x))\n"
              "b = (1 - target) * x + p\n"
              "l = select(given(weight), weight * b, b)");
  t.push_back(loss("bce_with_logits_loss", {"input", "target", "weight", "pos_weight"}, 2, {}, kBceLogits));

  static const std::string kGaussian = reduced(
      "s = select(rank(var) < rank(input), expand(var, axis=last), var)\n"
      "v = clip_through(s, min=eps)\n"
      "n = 0.5 * (log(v) + (input - target)^2 / v)\n"
      "l = select(full == 1, n + 0.5 * log(2 * pi), n)");
  t.push_back(loss("gaussian_nll_loss", {"input", "target", "var"}, 0,
                   {integer("full", 0), real("eps", 1e-6)}, kGaussian));
  static const std::string kPoisson = reduced(
      "p = select(log_input == 1, exp(input) - target * input, input - target * log(input + eps))\n"
      "stirling = target * log(target) - target + 0.5 * log(2 * pi * target)\n"
      "l = select(full == 1, p + select(target > 1, stirling, 0), p)");
  t.push_back(loss("poisson_nll_loss", pair, 0,
                   {integer("log_input", 1), integer("full", 0), real("eps", 1e-8)}, kPoisson));
  static const std::string kKl =
      "l = select(log_target == 1, exp(target) * (target - input),\n"
      "           select(target == 0, 0, target * (log(one_if_zero(target)) - input)))\n"
      "y = select(reduction == \"batchmean\", sum(l) / size(input, axis=batch),\n"
      "    select(reduction == \"mean\", mean(l), select(reduction == \"sum\", sum(l),\n"
      "    select(reduction == \"none\", l, fail(\"reduction must be mean, batchmean, sum or none\")))))";
  t.push_back(loss("kl_div_loss", pair, 0, {integer("log_target", 0)}, kKl));
  static const std::string kHinge =
      reduced("l = select(target == -1, 0, input) + select(target == 1, 0, clip(margin - input, min=0))");
  t.push_back(loss("hinge_embedding_loss", pair, 0, {real("margin", 1)}, kHinge));
  static const std::string kRanking = reduced("l = clip(target * (input2 - input1) + margin, min=0)");
  t.push_back(loss("margin_ranking_loss", {"input1", "input2", "target"}, 0, {real("margin", 0)}, kRanking));
}

// ---- losses of class scores

// From `p`, logarithms of probabilities, and `target`, indices: `nll` (weighted, not negated) and `total`.
constexpr std::string_view kPicked =
    "counts = target != ignore_index\n"
    "picked = select(counts, pick(p, target), 0)\n"
    "w = pick(weight, target)\n"
    "nll = select(given(weight), picked * w, picked)\n"
    "total = select(given(weight), sum(select(counts, w, 0)), sum(counts))\n";

void add_classes(Rows& t) {
  const Names scored = {"input", "target", "weight"};
  static const std::string kNll =
      reduced("p = input\n" + std::string(kPicked) +
                  "l = select(integer(target), -nll, fail(\"the target must hold indices of classes\"))",
              "sum(l) / total");
  OpDef nll = loss("nll_loss", scored, 1, {integer("ignore_index", -100)}, kNll);
  nll.onnx = {"NegativeLogLikelihoodLoss"};
  t.push_back(nll);

  static const std::string kCross = reduced(
      "p = log_softmax(input, axis=class)\n"
      "n = size(input, axis=class)\n"
      "e = label_smoothing\n"
      "scaled = select(given(weight), p * along(weight, input), p)\n" +
          std::string(kPicked) +
          "smooth = (1 - e) * nll + (e / n) * select(counts, sum(scaled, axis=class), 0)\n"
          "hard = select(e == 0, nll, smooth)\n"
          "q = select(same(input, target), select(e == 0, target, target * (1 - e) + e / n),\n"
          "           fail(\"probabilities of classes must have the shape of the input\"))\n"
          "l = select(integer(target), -hard, -sum(scaled * q, axis=class))",
      "select(integer(target), sum(l) / total, mean(l))");
  t.push_back(loss("cross_entropy_loss", scored, 1,
                   {integer("ignore_index", -100), real("label_smoothing", 0)}, kCross));

  static const std::string kMultiMargin = reduced(
      "z = relu(margin - expand(pick(input, target), axis=class) + input)\n"
      "zp = select(p == 1, z, select(p == 2, z^2, fail(\"p must be 1 or 2\")))\n"
      "zw = select(given(weight), zp * expand(pick(weight, target), axis=class), zp)\n"
      "l = sum(select(chosen(target, input), 0, zw), axis=class) / size(input, axis=class)");
  t.push_back(loss("multi_margin_loss", scored, 1, {real("p", 1), real("margin", 1)}, kMultiMargin));

  static const std::string kMultiLabel = reduced(
      "b = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))\n"
      "l = mean(select(given(weight), weight * b, b), axis=last)");
  t.push_back(loss("multi_label_soft_margin_loss", scored, 1, {}, kMultiLabel));
}

// ---- losses of distances

// ‖v‖ over the last axis.
std::string norm(const std::string& v) {
  return fmt::format(
      "select(p == 2, norm_sqrt(sum(({0})^2, axis=last)), select(p == 1, sum(abs({0}), axis=last), select(p "
      "== inf, "
      "max(abs({0}), axis=last), select(p > 0, sum(abs({0})^p, axis=last)^(1 / p), fail(\"p must be greater "
      "than "
      "0\")))))",
      v);
}

std::string distance(const std::string& a, const std::string& b) {
  const std::string unit =
      "({0} / expand(clip_through(norm_sqrt(sum({0}^2, axis=last)), min=1e-8), axis=last))";
  return fmt::format(
      "select(distance == \"pairwise_l2\", norm_sqrt(sum(({0} - {1} + 1e-6)^2, axis=last)), select(distance "
      "== "
      "\"l1\", sum(abs({0} - {1}), axis=last), select(distance == \"sq_l2\", sum(({0} - {1})^2, axis=last), "
      "select(distance == \"cosine\", 1 - sum({2} * {3}, axis=last), fail(\"distance must be pairwise_l2, "
      "l1, "
      "sq_l2 or cosine\")))))",
      a, b, fmt::format(fmt::runtime(unit), a), fmt::format(fmt::runtime(unit), b));
}

std::string triplet(const std::string& near, const std::string& far, const std::string& swapped) {
  return reduced(
      fmt::format("near = {}\nfar = {}\n"
                  "least = select(swap == 1, min(far, {}), far)\n"
                  "l = clip(margin + near - least, min=0)",
                  near, far, swapped));
}

void add_distances(Rows& t) {
  static const std::string kCosine = reduced(
      "a = sum(input1^2, axis=last) + 1e-12\n"
      "b = sum(input2^2, axis=last) + 1e-12\n"
      "c = sum(input1 * input2, axis=last) / sqrt(a * b)\n"
      "l = select(target == 1, 1 - c, 0) + select(target == -1, clip(c - margin, min=0), 0)");
  t.push_back(loss("cosine_embedding_loss", {"input1", "input2", "target"}, 0, {real("margin", 0)}, kCosine));

  const Names three = {"anchor", "positive", "negative"};
  static const std::string kTriplet = triplet(
      norm("anchor - positive + eps"), norm("anchor - negative + eps"), norm("positive - negative + eps"));
  t.push_back(loss("triplet_margin_loss", three, 0,
                   {real("margin", 1), real("p", 2), real("eps", 1e-6), integer("swap", 0)}, kTriplet));
  static const std::string kDistance = triplet(distance("anchor", "positive"), distance("anchor", "negative"),
                                               distance("positive", "negative"));
  t.push_back(loss("triplet_margin_with_distance_loss", three, 0,
                   {real("margin", 1), integer("swap", 0), text("distance", "pairwise_l2")}, kDistance));
}

// ---- ONNX's form with a second result

bool shape_softmax_cross_entropy(const ShapeContext& c, std::vector<TensorType>& outputs,
                                 std::string& error) {
  if (!infer_types(*find_op("nll_loss"), c.attrs, c.inputs, outputs, error)) return false;
  outputs.push_back(*c.inputs[0]);
  return true;
}

bool steps_softmax_cross_entropy(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType dtype = c.inputs[0]->dtype;
  const auto cast = [&](const std::string& v, DataType to) {
    return s.add("cast", {v}, {{"to", std::string(data_type_name(to))}});
  };
  const bool narrow = data_type_bytes(dtype) == 2;
  const std::string x = narrow ? cast("input", DataType::f32) : "input";
  const std::string p = s.add("log_softmax", {x}, {{"axis", int64_t(c.inputs[0]->rank() > 1 ? 1 : 0)}});
  std::vector<std::string> operands = {p, "target"};
  if (c.input(2) != nullptr) operands.push_back(narrow ? cast("weight", DataType::f32) : "weight");
  const std::string l = s.add("nll_loss", operands, c.attrs);
  const Attrs back = {{"to", std::string(data_type_name(dtype))}};
  s.result("y", narrow ? "cast" : "identity", {l}, narrow ? back : Attrs{});
  s.result("log_prob", narrow ? "cast" : "identity", {p}, narrow ? back : Attrs{});
  return true;
}

}  // namespace

void add_losses(Rows& t) {
  add_own_derivatives(t);
  add_elementwise(t);
  add_classes(t);
  add_distances(t);
  OpDef onnx = by_steps("softmax_cross_entropy", {"SoftmaxCrossEntropyLoss"}, {"input", "target", "weight"},
                        1, {integer("ignore_index", -100), text("reduction", "mean")},
                        shape_softmax_cross_entropy, steps_softmax_cross_entropy);
  onnx.results = {"y", "log_prob"};
  onnx.optional_results = 1;
  t.push_back(noted(onnx, "nll_loss of log_softmax, which is the second result"));
}

}  // namespace cs::ops

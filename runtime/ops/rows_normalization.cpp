// Normalizations: compounds of means, squares and products, so that whatever generates or fuses those serves
// them; LRN has a window over channels and is a loop rule.
#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

std::vector<int64_t> axes_from(int first, int rank) {
  std::vector<int64_t> axes;
  for (int d = first; d < rank; ++d) axes.push_back(d);
  return axes;
}

// A vector per channel, shaped so that it broadcasts against x[N, C, ...].
std::string per_channel(Steps& s, const std::string& v, int64_t channels, int rank) {
  Shape shape(size_t(std::max(1, rank - 1)), 1);
  shape[0] = channels;
  return s.reshape(v, shape);
}

std::string epsilon_of(Steps& s, const ShapeContext& c) {
  return s.constant(attr_real(c.op, c.attrs, "epsilon"), c.inputs[0]->dtype);
}

struct Normalized {
  std::string mean, inverse, y;  // y = (x - mean) * inverse
};

Normalized normalized(Steps& s, const std::string& x, const std::vector<int64_t>& axes,
                      const std::string& epsilon) {
  Normalized n;
  n.mean = s.add("reduce_mean", {x}, {{"axes", axes}});
  std::string centred = s.add("sub", {x, n.mean});
  std::string variance = s.add("reduce_mean", {s.add("square", {centred})}, {{"axes", axes}});
  n.inverse = s.add("rsqrt", {s.add("add", {variance, epsilon})});
  n.y = s.add("mul", {centred, n.inverse});
  return n;
}

// result = y * scale + bias, where they are there.
void finish(Steps& s, const std::string& result, const std::string& y, const std::string& scale,
            const std::string& bias) {
  std::string scaled = bias.empty() ? "" : s.add("mul", {y, scale});
  if (bias.empty()) {
    s.result(result, "mul", {y, scale});
  } else {
    s.result(result, "add", {scaled, bias});
  }
}

// ---- over all but the channels

bool vectors_of(const ShapeContext& c, size_t first, size_t count, int64_t elements, std::string& error) {
  for (size_t k = first; k < first + count; ++k) {
    const TensorType* t = c.input(k);
    if (t != nullptr && t->shape != Shape{elements})
      return fail(error, fmt::format("operand '{}' is {}, it needs {} elements for {}", c.op.operands[k],
                                     type_text(*t), elements, type_text(*c.inputs[0])));
  }
  return true;
}

bool has_channels(const ShapeContext& c, std::string& error) {
  return c.inputs[0]->rank() >= 2 ||
         fail(error, fmt::format("{} has no dimension of channels", type_text(*c.inputs[0])));
}

bool shape_batch_norm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!has_channels(c, error) || !vectors_of(c, 1, 4, c.inputs[0]->shape[1], error)) return false;
  outputs = {*c.inputs[0], *c.inputs[3], *c.inputs[4]};
  return true;
}

bool steps_batch_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  int rank = c.inputs[0]->rank();
  int64_t channels = c.inputs[0]->shape[1];
  std::string mean = "mean", variance = "variance";
  if (attr_int(c.op, c.attrs, "training_mode") != 0) {
    // Statistics of this batch; the running ones move towards them.
    std::vector<int64_t> axes = axes_from(2, rank);
    axes.insert(axes.begin(), 0);
    std::string wide = s.add("reduce_mean", {"x"}, {{"axes", axes}});
    std::string squares = s.add("square", {s.add("sub", {"x", wide})});
    mean = s.reshape(wide, {channels});
    variance = s.reshape(s.add("reduce_mean", {squares}, {{"axes", axes}}), {channels});
    double momentum = attr_real(c.op, c.attrs, "momentum");
    std::string old = s.constant(momentum, c.inputs[3]->dtype),
                now = s.constant(1 - momentum, c.inputs[3]->dtype);
    const double values = double(c.inputs[0]->elements()) / double(channels);
    const bool unbiased = attr_int(c.op, c.attrs, "unbiased") != 0 && values > 1;
    std::string now_variance =
        unbiased ? s.constant((1 - momentum) * values / (values - 1), c.inputs[3]->dtype) : now;
    s.result("running_mean", "add", {s.add("mul", {"mean", old}), s.add("mul", {mean, now})});
    s.result("running_variance", "add",
             {s.add("mul", {"variance", old}), s.add("mul", {variance, now_variance})});
  } else {
    s.result("running_mean", "identity", {"mean"});
    s.result("running_variance", "identity", {"variance"});
  }
  // One factor and one addend per channel, which are constants where the statistics are.
  std::string inverse = s.add("rsqrt", {s.add("add", {variance, epsilon_of(s, c)})});
  std::string factor = s.add("mul", {"scale", inverse});
  std::string addend = s.add("sub", {"bias", s.add("mul", {mean, factor})});
  finish(s, "y", "x", per_channel(s, factor, channels, rank), per_channel(s, addend, channels, rank));
  return true;
}

bool shape_instance_norm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!has_channels(c, error) || !vectors_of(c, 1, 2, c.inputs[0]->shape[1], error)) return false;
  outputs = {*c.inputs[0]};
  return true;
}

bool steps_instance_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  int rank = c.inputs[0]->rank();
  int64_t channels = c.inputs[0]->shape[1];
  Normalized n = normalized(s, "x", axes_from(2, rank), epsilon_of(s, c));
  finish(s, "y", n.y, per_channel(s, "scale", channels, rank), per_channel(s, "bias", channels, rank));
  return true;
}

bool shape_group_norm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!has_channels(c, error)) return false;
  int64_t groups = attr_int(c.op, c.attrs, "num_groups"), channels = c.inputs[0]->shape[1];
  if (groups < 1 || channels % groups != 0)
    return fail(error, fmt::format("{} channels do not split into {} groups", channels, groups));
  bool by_group = c.inputs[1]->shape == Shape{groups};
  if (!vectors_of(c, 1, 2, by_group ? groups : channels, error)) return false;
  outputs = {*c.inputs[0]};
  return true;
}

// Factors belong to groups (operator sets 18 to 20) or to channels (from 21).
bool steps_group_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const TensorType& x = *c.inputs[0];
  int64_t groups = attr_int(c.op, c.attrs, "num_groups"), channels = x.shape[1];
  std::string wide = s.reshape("x", {x.shape[0], groups, x.elements() / (x.shape[0] * groups)});
  std::string y = normalized(s, wide, {2}, epsilon_of(s, c)).y;
  if (c.inputs[1]->shape == Shape{groups}) {
    y = s.add("add", {s.add("mul", {y, s.reshape("scale", {groups, 1})}), s.reshape("bias", {groups, 1})});
    s.result("y", "reshape", {y}, {{"shape", x.shape}});
    return true;
  }
  finish(s, "y", s.reshape(y, x.shape), per_channel(s, "scale", channels, x.rank()),
         per_channel(s, "bias", channels, x.rank()));
  return true;
}

// ---- over the last dimensions

bool shape_layer_norm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  const TensorType& x = *c.inputs[0];
  for (size_t k = 1; k < c.inputs.size(); ++k) {
    if (c.inputs[k] == nullptr) continue;
    std::optional<Shape> s = broadcast(c.inputs[k]->shape, x.shape);
    if (!s || *s != x.shape)
      return fail(error, fmt::format("operand '{}' {} does not broadcast to {}", c.op.operands[k],
                                     type_text(*c.inputs[k]), type_text(x)));
  }
  outputs = {x};
  if (c.op.results.size() == 1) return true;
  TensorType statistic = x;
  for (int d = *axis; d < x.rank(); ++d) statistic.shape[size_t(d)] = 1;
  outputs.push_back(statistic);
  outputs.push_back(statistic);
  return true;
}

bool steps_layer_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  Steps s(steps);
  Normalized n = normalized(s, "x", axes_from(*axis, c.inputs[0]->rank()), epsilon_of(s, c));
  s.result("mean", "identity", {n.mean});
  s.result("inv_std_dev", "identity", {n.inverse});
  finish(s, "y", n.y, "scale", c.input(2) != nullptr ? "bias" : "");
  return true;
}

bool steps_rms_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  Steps s(steps);
  std::string squares =
      s.add("reduce_mean", {s.add("square", {"x"})}, {{"axes", axes_from(*axis, c.inputs[0]->rank())}});
  std::string inverse = s.add("rsqrt", {s.add("add", {squares, epsilon_of(s, c)})});
  finish(s, "y", s.add("mul", {"x", inverse}), "scale", "");
  return true;
}

// ---- others

bool shape_axes(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!reduced_axes(c, error)) return false;
  outputs = {*c.inputs[0]};
  return true;
}

bool steps_mean_variance(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  Attrs axes = {{"axes", attr_ints(c.op, c.attrs, "axes")}};
  std::string centred = s.add("sub", {"x", s.add("reduce_mean", {"x"}, axes)});
  std::string deviation = s.add("sqrt", {s.add("reduce_mean", {s.add("square", {centred})}, axes)});
  s.result("y", "div", {centred, s.add("add", {deviation, s.constant(1e-9, c.inputs[0]->dtype)})});
  return true;
}

bool steps_lp_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  int64_t p = attr_int(c.op, c.attrs, "p");
  if (p != 1 && p != 2) return fail(error, fmt::format("p is {}, must be 1 or 2", p));
  Steps s(steps);
  const std::string norm = s.add(p == 1 ? "reduce_l1" : "reduce_l2", {"x"},
                                 {{"axes", std::vector<int64_t>{attr_int(c.op, c.attrs, "axis")}}});
  s.result("y", "div", {"x", s.add("one_if_zero", {norm})});
  return true;
}

bool shape_lrn(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!has_channels(c, error)) return false;
  if (attr_int(c.op, c.attrs, "size") < 1)
    return fail(error, fmt::format("a window of {} channels", attr_int(c.op, c.attrs, "size")));
  outputs = {*c.inputs[0]};
  return true;
}

// x / (bias + alpha / size * Σ x² over a window of channels) ^ beta
bool loops_lrn(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), y = b.result();
  int64_t size = attr_int(c.op, c.attrs, "size"), channels = x.shape[1];
  Shape wide = x.shape;
  wide[1] += size - 1;
  LoopView squares = b.temporary("squares", outputs[0].dtype, wide);
  b.fill(squares, 0);
  b.elementwise(squares.sliced(1, (size - 1) / 2, channels), {x}, "x0 * x0");
  b.fill(y, 0);
  LoopView window = squares.windows(1, channels, 1, size, 1), sum = y;
  sum.shape.push_back(size);
  sum.strides.push_back(0);
  b.statement(window.shape, sum.access(), {window.access()}, "x0", Combine::add);
  b.elementwise(
      y, {x, y},
      fmt::format("x0 / pow({} + {} * x1, {})", attr_real(c.op, c.attrs, "bias"),
                  attr_real(c.op, c.attrs, "alpha") / double(size), attr_real(c.op, c.attrs, "beta")));
  return true;
}

}  // namespace

void add_normalizations(Rows& t) {
  AttrDef epsilon = real("epsilon", 1e-5);
  OpDef batch = by_steps("batch_norm", {"BatchNormalization"}, {"x", "scale", "bias", "mean", "variance"}, 0,
                         {epsilon, real("momentum", 0.9), integer("training_mode", 0), integer("unbiased", 0)},
                         shape_batch_norm, steps_batch_norm);
  batch.results = {"y", "running_mean", "running_variance"};
  batch.optional_results = 2;
  t.push_back(noted(batch, "from opset 14 also with training_mode; before, inference only"));
  t.push_back(by_steps("instance_norm", {"InstanceNormalization"}, {"x", "scale", "bias"}, 0, {epsilon},
                       shape_instance_norm, steps_instance_norm));
  t.push_back(by_steps("group_norm", {"GroupNormalization"}, {"x", "scale", "bias"}, 0,
                       {epsilon, {"num_groups", kInt, int64_t(0), true}, integer("stash_type", 1)},
                       shape_group_norm, steps_group_norm));
  AttrDefs last = {integer("axis", -1), epsilon, integer("stash_type", 1)};
  OpDef layer = by_steps("layer_norm", {"LayerNormalization"}, {"x", "scale", "bias"}, 1, last,
                         shape_layer_norm, steps_layer_norm);
  layer.results = {"y", "mean", "inv_std_dev"};
  layer.optional_results = 2;
  t.push_back(layer);
  t.push_back(
      by_steps("rms_norm", {"RMSNormalization"}, {"x", "scale"}, 0, last, shape_layer_norm, steps_rms_norm));
  t.push_back(
      by_steps("mean_variance_norm", {"MeanVarianceNormalization"}, {"x"}, 0,
               {{"axes", kInts, std::vector<int64_t>{0, 2, 3}, false}, integer("noop_with_empty_axes", 0)},
               shape_axes, steps_mean_variance));
  t.push_back(by_steps("lp_norm", {"LpNormalization"}, {"x"}, 0, {integer("axis", -1), integer("p", 2)},
                       shape_same, steps_lp_norm));
  t.push_back(
      by_loops(OpKind::loops, "lrn", {"LRN"}, {"x"}, 0,
               {real("alpha", 0.0001), real("beta", 0.75), real("bias", 1), {"size", kInt, int64_t(0), true}},
               shape_lrn, loops_lrn));
}

}  // namespace cs::ops

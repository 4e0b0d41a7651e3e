// Gradient clipping and loss scales: rows for one gradient or for the scale, and steps over several
// gradients.
#include "runtime/ops/gradient_scaling.h"

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

constexpr double kNormEpsilon = 1e-6;  // a gradient of zeros stays one

DataType wide(DataType t) { return t == DataType::f64 ? t : DataType::f32; }

bool one_number(const ShapeContext& c, size_t k, std::string& error) {
  return c.inputs[k]->elements() == 1 || fail(error, fmt::format("'{}' is {}, it must be one number",
                                                                 c.op.operands[k], type_text(*c.inputs[k])));
}

bool positive(const ShapeContext& c, std::string_view attr, std::string& error) {
  const double v = attr_real(c.op, c.attrs, attr);
  return v > 0 || fail(error, fmt::format("{} is {}, it must be above 0", attr, v));
}

// ---- one gradient

bool shape_clip_by_norm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  outputs = {*c.inputs[0]};
  return one_number(c, 1, error) && same_dtype(c, 0, error) && positive(c, "max_norm", error);
}

bool steps_clip_by_norm(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType type = c.inputs[1]->dtype;
  const std::string padded = s.add("add", {s.reshape("norm", {}), s.constant(kNormEpsilon, type)});
  const std::string factor = s.add("div", {s.constant(attr_real(c.op, c.attrs, "max_norm"), type), padded});
  s.result("y", "mul", {"x", s.add("min", {factor, s.constant(1, type)})});
  return true;
}

bool shape_unscale(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  outputs = {{wide(c.inputs[0]->dtype), c.inputs[0]->shape}};
  return one_number(c, 1, error);
}

std::string as(Steps& s, const std::string& x, DataType from, DataType to) {
  return from == to ? x : s.add("cast", {x}, {{"to", std::string(data_type_name(to))}});
}

// The gradient becomes wide first: divided by a large scale it would lose the digits for which there is one.
bool steps_unscale(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType type = wide(c.inputs[0]->dtype);
  const std::string scale = as(s, s.reshape("scale", {}), c.inputs[1]->dtype, type);
  s.result("y", "mul", {as(s, "x", c.inputs[0]->dtype, type), s.add("reciprocal", {scale})});
  return true;
}

bool shape_not_finite(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  outputs = {{wide(c.inputs[0]->dtype), {}}};
  return data_type_is_float(c.inputs[0]->dtype) ||
         fail(error, fmt::format("'x' is {}, it must be in floating point", type_text(*c.inputs[0])));
}

// Times zero, a number is zero and anything else is NaN, and so is its sum: nothing is asked of single
// elements.
bool steps_not_finite(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType type = c.inputs[0]->dtype;
  const std::string zeros = s.add("mul", {"x", s.constant(0, type)});
  const std::string sum = s.add("reduce_sum", {zeros}, {{"keepdims", int64_t(0)}});
  s.result("y", "cast", {s.add("is_not_finite", {sum})}, {{"to", std::string(data_type_name(wide(type)))}});
  return true;
}

// ---- the scale

bool shape_loss_scale(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  for (size_t k = 0; k < 3; ++k)
    if (!one_number(c, k, error)) return false;
  if (!same_dtype(c, 0, error)) return false;
  if (!positive(c, "growth", error) || !positive(c, "backoff", error) || !positive(c, "min_scale", error))
    return false;
  if (attr_int(c.op, c.attrs, "interval") < 1) return fail(error, "interval must be at least 1 step");
  outputs = {*c.inputs[0], *c.inputs[1]};
  return true;
}

bool steps_loss_scale(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  const DataType type = c.inputs[0]->dtype;
  const auto number = [&](double v) { return s.constant(v, type); };
  const auto attribute = [&](const char* name) { return number(attr_real(c.op, c.attrs, name)); };
  const std::string zero = number(0), overflow = s.add("is_not_zero", {"overflow"});
  const std::string good = s.add("add", {"good_steps", number(1)});
  const std::string due =
      s.add("greater_or_equal", {good, number(double(attr_int(c.op, c.attrs, "interval")))});
  const std::string more =
      s.add("min", {s.add("mul", {"scale", attribute("growth")}), attribute("max_scale")});
  const std::string less =
      s.add("max", {s.add("mul", {"scale", attribute("backoff")}), attribute("min_scale")});
  s.result("new_scale", "where", {overflow, less, s.add("where", {due, more, "scale"})});
  s.result("new_good_steps", "where", {s.add("or", {overflow, due}), zero, good});
  return true;
}

// ---- all_reduce

// Buffers of the first replica, then those of the next one; one result for each buffer.
bool shape_all_reduce(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const int64_t replicas = attr_int(c.op, c.attrs, "replicas"), all = int64_t(c.inputs.size());
  if (replicas < 1 || all % replicas != 0)
    return fail(error, fmt::format("{} buffers are not as many for each of {} replicas", all, replicas));
  const size_t buffers = size_t(all / replicas);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const TensorType &own = *c.inputs[i], &first = *c.inputs[i % buffers];
    if (own != first)
      return fail(error, fmt::format("buffer {} is {} in one replica and {} in another", i % buffers,
                                     type_text(first), type_text(own)));
    if (i < buffers) outputs.push_back({own.dtype == DataType::f64 ? DataType::f64 : DataType::f32, own.shape});
  }
  return true;
}

// x0 + x1, (x0 + x1) + x2, (x0 + x1) + (x2 + x3): neighbours first.
std::string tree_of(int64_t count) {
  std::vector<std::string> terms;
  for (int64_t i = 0; i < count; ++i) terms.push_back(fmt::format("x{}", i));
  while (terms.size() > 1) {
    std::vector<std::string> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2) next.push_back(fmt::format("({} + {})", terms[i], terms[i + 1]));
    if (terms.size() % 2 != 0) next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.front();
}

bool loops_all_reduce(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  const int64_t replicas = attr_int(c.op, c.attrs, "replicas");
  const std::string sum = tree_of(replicas);
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::vector<LoopView> terms;
    for (int64_t r = 0; r < replicas; ++r) terms.push_back(b.operand(int(size_t(r) * outputs.size() + k)));
    b.elementwise(b.result(int(k)), terms, sum);
  }
  return true;
}

}  // namespace

void add_gradient_scaling(Rows& t) {
  OpDef all_reduce = by_loops(OpKind::loops, "all_reduce", {}, {"x"}, 0, {{"replicas", kInt, int64_t(0), true}},
                              shape_all_reduce, loops_all_reduce);
  all_reduce.variadic = all_reduce.variadic_results = true;
  all_reduce.no_gradient = "it adds up gradients";
  t.push_back(noted(all_reduce, "buffers of several replicas, each added up in at least f32"));
  t.push_back(noted(predicate("is_not_finite", {}, {"x"}, "select(abs(x) < inf, 0, 1)"), "NaN or infinite"));
  t.push_back(by_steps("clip_by_norm", {}, {"x", "norm"}, 0, {{"max_norm", AttrKind::real, 0.0, true}},
                       shape_clip_by_norm, steps_clip_by_norm));
  t.push_back(noted(by_steps("unscale", {}, {"x", "scale"}, 0, {}, shape_unscale, steps_unscale),
                    "x / scale in at least f32"));
  t.push_back(noted(by_steps("not_finite", {}, {"x"}, 0, {}, shape_not_finite, steps_not_finite),
                    "1 if any element is NaN or infinite"));
  OpDef scale = by_steps("loss_scale_step", {}, {"scale", "good_steps", "overflow"}, 0,
                         {real("growth", 2), real("backoff", 0.5), integer("interval", 2000),
                          real("min_scale", 1.0 / 16384), real("max_scale", 32768)},
                         shape_loss_scale, steps_loss_scale);
  scale.results = {"new_scale", "new_good_steps"};
  t.push_back(noted(scale, "dynamic loss scale: smaller after an overflow, larger after so many good steps"));
}

std::string global_norm(Steps& s, std::span<const std::string> gradients) {
  std::string sum;
  for (const std::string& g : gradients) {
    const std::string squares = s.add("reduce_sum_square", {g}, {{"keepdims", int64_t(0)}});
    sum = sum.empty() ? squares : s.add("add", {sum, squares});
  }
  return s.add("sqrt", {sum});
}

std::vector<std::string> clip_by_global_norm(Steps& s, std::span<const std::string> gradients,
                                             double max_norm) {
  const std::string norm = global_norm(s, gradients);
  std::vector<std::string> clipped;
  for (const std::string& g : gradients)
    clipped.push_back(s.add("clip_by_norm", {g, norm}, {{"max_norm", max_norm}}));
  return clipped;
}

std::vector<std::string> clip_by_value(Steps& s, std::span<const std::string> gradients, double limit) {
  std::vector<std::string> clipped;
  for (const std::string& g : gradients)
    clipped.push_back(s.add("clip", {g}, {{"min", -limit}, {"max", limit}}));
  return clipped;
}

std::string any_not_finite(Steps& s, std::span<const std::string> gradients) {
  std::string any;
  for (const std::string& g : gradients) {
    const std::string bad = s.add("not_finite", {g});
    any = any.empty() ? bad : s.add("max", {any, bad});
  }
  return any;
}

std::string keep_if(Steps& s, const std::string& overflow, const std::string& old, const std::string& made) {
  return s.add("where", {s.add("is_not_zero", {overflow}), old, made});
}

}  // namespace cs::ops

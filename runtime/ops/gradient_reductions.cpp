// Gradients of reductions, of softmax, which would be many steps otherwise, and of running sums.
#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// What a reduction's gradient needs: the operand's shape with 1 for what was reduced.
struct Reduced {
  Shape kept;
  std::vector<int64_t> axes;
  int64_t elements = 1;  // that go into one
};

std::optional<Reduced> reduced_of(const GradientCall& c, std::string& error) {
  const std::optional<std::vector<bool>> axes = reduced_axes(c.context(), error);
  if (!axes) return std::nullopt;
  Reduced r{c.inputs[0]->shape, {}, 1};
  for (size_t d = 0; d < axes->size(); ++d) {
    if (!(*axes)[d]) continue;
    r.elements *= r.kept[d];
    r.kept[d] = 1;
    r.axes.push_back(int64_t(d));
  }
  return r;
}

// A value of the result's shape so that it broadcasts against the operand.
std::string wide(GradientSteps& s, const std::string& value, const Reduced& r) {
  return s.out().shape == r.kept ? value : s.reshape(value, r.kept);
}

// Sums, which broadcast, repeated over the operand.
void give_repeated(GradientSteps& s, const std::string& value, const Reduced& r) {
  s.give(0, s.in().shape == r.kept ? value : s.add("expand", {value}, {{"shape", s.in().shape}}));
}

Attrs over(const Reduced& r) {
  return {{"axes", r.axes}, {"keepdims", int64_t(1)}, {"noop_with_empty_axes", int64_t(1)}};
}

}  // namespace

bool gradient_of_sum(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  give_repeated(s, wide(s, "dy0", *r), *r);
  return true;
}

bool gradient_of_mean(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  const std::string part = s.add("div", {"dy0", s.constant(double(r->elements), s.out().dtype)});
  give_repeated(s, wide(s, part, *r), *r);
  return true;
}

// Elements that are equally large share the gradient.
bool gradient_of_extreme(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  const DataType type = s.out().dtype;
  const std::string zero = s.constant(0, type), chosen = s.add("equal", {"x0", wide(s, "y0", *r)});
  const std::string count =
      s.add("reduce_sum", {s.add("where", {chosen, s.constant(1, type), zero})}, over(*r));
  s.give(0, s.add("where", {chosen, s.add("div", {wide(s, "dy0", *r), count}), zero}));
  return true;
}

// The product of the others: y / x, or, where x is the only zero, the product without it.
bool gradient_of_product(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  const DataType type = s.out().dtype;
  const std::string zero = s.constant(0, type), one = s.constant(1, type);
  const std::string is_zero = s.add("equal", {"x0", zero});
  const std::string divisor = s.add("where", {is_zero, one, "x0"});
  const std::string rest = s.add("reduce_prod", {divisor}, over(*r));
  const std::string zeros = s.add("reduce_sum", {s.add("where", {is_zero, one, zero})}, over(*r));
  const std::string alone = s.add("where", {s.add("equal", {zeros, one}), rest, zero});
  const std::string others = s.add("where", {is_zero, alone, s.add("div", {wide(s, "y0", *r), divisor})});
  s.give(0, s.add("mul", {wide(s, "dy0", *r), others}));
  return true;
}

bool gradient_of_log_sum_exp(const GradientCall& c, std::vector<DecompositionStep>& steps,
                             std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  const std::string share = s.add("exp", {s.add("sub", {"x0", wide(s, "y0", *r)})});
  s.give(0, s.add("mul", {wide(s, "dy0", *r), share}));
  return true;
}

// x / y, and 0 at the origin.
bool gradient_of_norm(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto r = reduced_of(c, error);
  if (!r) return false;
  GradientSteps s(c, steps);
  const std::string part = s.add("div", {"dy0", s.add("one_if_zero", {"y0"})});
  s.give(0, s.add("mul", {"x0", wide(s, part, *r)}));
  return true;
}

// y (dy - Σ dy y). Where y is nearly 1 the difference is what the sum has lost by rounding, so the mean of
// what is left is taken away once more.
bool gradient_of_softmax(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const Attrs along = {{"axes", Shape{attr_int(c.op, c.attrs, "axis")}}, {"keepdims", int64_t(1)}};
  const auto without_mean = [&](const std::string& v) {
    return s.add("sub", {v, s.add("reduce_sum", {s.add("mul", {v, "y0"})}, along)});
  };
  s.give(0, s.add("mul", {"y0", without_mean(without_mean("dy0"))}));
  return true;
}

// dy - e^y Σ dy
bool gradient_of_log_softmax(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const Attrs along = {{"axes", Shape{attr_int(c.op, c.attrs, "axis")}}, {"keepdims", int64_t(1)}};
  const std::string sum = s.add("reduce_sum", {"dy0"}, along);
  s.give(0, s.add("sub", {"dy0", s.add("mul", {s.add("exp", {"y0"}), sum})}));
  return true;
}

bool gradient_of_cum_sum(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  s.give(0, s.add("cum_sum", {"dy0"},
                  {{"axis", attr_int(c.op, c.attrs, "axis")},
                   {"exclusive", attr_int(c.op, c.attrs, "exclusive")},
                   {"reverse", int64_t(attr_int(c.op, c.attrs, "reverse") == 0)}}));
  return true;
}

}  // namespace cs::ops

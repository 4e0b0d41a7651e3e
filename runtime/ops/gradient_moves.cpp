// Gradients of views and of what moves elements: the same the other way round.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

bool gradient_of_view(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  s.give(0, s.in().shape == s.out().shape ? "dy0" : s.reshape("dy0", s.in().shape));
  return true;
}

bool gradient_of_transpose(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const std::vector<int64_t> perm = attr_ints(c.op, c.attrs, "perm");
  std::vector<int64_t> back(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) back[size_t(perm[d])] = int64_t(d);
  s.give(0, s.add("transpose", {"dy0"}, {{"perm", back}}));
  return true;
}

bool gradient_of_concat(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const std::optional<int> axis = axis_of(c.context(), "axis", error);
  if (!axis) return false;
  GradientSteps s(c, steps);
  int64_t at = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const int64_t extent = s.in(k).shape[size_t(*axis)];
    if (c.wants(k)) s.give(k, s.slice("dy0", *axis, at, at + extent));
    at += extent;
  }
  return true;
}

bool gradient_of_split(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const std::optional<int> axis = axis_of(c.context(), "axis", error);
  if (!axis) return false;
  GradientSteps s(c, steps);
  std::vector<std::string> parts;
  int64_t rest = s.in().shape[size_t(*axis)];
  for (size_t k = 0; k < c.outputs.size(); ++k) {
    parts.push_back(c.gives(k) ? GradientSteps::dy(k) : s.zeros(s.out(k)));
    rest -= s.out(k).shape[size_t(*axis)];
  }
  if (rest > 0) {  // results behind the last one that has a name
    TensorType behind = s.in();
    behind.shape[size_t(*axis)] = rest;
    parts.push_back(s.zeros(behind));
  }
  s.give(0, parts.size() == 1 ? parts[0] : s.add("concat", parts, {{"axis", int64_t(*axis)}}));
  return true;
}

namespace {

// Zeros between the elements along one dimension, `step` places from one to the next.
std::string spread(GradientSteps& s, const std::string& value, Shape& shape, size_t axis, int64_t step) {
  Shape wide = shape, joined = shape;
  wide.insert(wide.begin() + int64_t(axis) + 1, 1);
  joined[axis] *= step;
  const std::string each = s.pad(s.reshape(value, wide), int(wide.size()), int64_t(axis) + 1, 0, step - 1);
  shape = joined;
  return s.reshape(each, joined);
}

}  // namespace

// Along every dimension: reversed if the slice counts backwards, zeros between and around.
bool gradient_of_slice(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const Shape& x = s.in().shape;
  std::vector<int64_t> starts = attr_ints(c.op, c.attrs, "starts"), axes = attr_ints(c.op, c.attrs, "axes"),
                       strides = attr_ints(c.op, c.attrs, "steps");
  if (axes.empty()) axes = all_axes(int(starts.size()));
  if (strides.empty()) strides.assign(starts.size(), 1);
  Shape shape = s.out().shape;
  if (s.out().elements() == 0) return true;
  std::string value = "dy0";
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto d = size_t(*normal_axis(axes[k], int(x.size())));
    const int64_t n = x[d], count = shape[d], step = std::clamp(strides[k], -n - 1, n + 1);
    int64_t first = std::clamp(starts[k] < 0 ? starts[k] + n : starts[k], int64_t(0), n - 1);
    if (step < 0) {
      if (count > 1) value = s.slice(value, int64_t(d), -1, INT64_MIN, -1);
      first += (count - 1) * step;
    }
    const int64_t distance = count > 1 ? std::abs(step) : 1;
    if (distance > 1) {
      value = spread(s, value, shape, d, distance);
      const int64_t reach = (count - 1) * distance + 1;
      value = s.slice(value, int64_t(d), 0, reach);
      shape[d] = reach;
    }
    value = s.pad(value, int(x.size()), int64_t(d), first, n - first - shape[d]);
    shape[d] = n;
  }
  s.give(0, value);
  return true;
}

bool gradient_of_pad(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  if (attr_text(c.op, c.attrs, "mode") != "constant") return gradient_of_places(c, steps, error);
  GradientSteps s(c, steps);
  const Shape& x = s.in().shape;
  std::vector<int64_t> pads = attr_ints(c.op, c.attrs, "pads"), axes = attr_ints(c.op, c.attrs, "axes");
  if (axes.empty()) axes = all_axes(int(x.size()));
  std::string inside = "dy0";
  Shape middle = s.out().shape;
  std::vector<std::pair<int64_t, int64_t>> cut(x.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto d = size_t(*normal_axis(axes[k], int(x.size())));
    const int64_t before = pads[k], behind = pads[k + axes.size()];
    const int64_t start = std::max<int64_t>(0, before), end = s.out().shape[d] - std::max<int64_t>(0, behind);
    if (start != 0 || end != s.out().shape[d]) inside = s.slice(inside, int64_t(d), start, end);
    middle[d] = end - start;
    cut[d] = {std::max<int64_t>(0, -before), std::max<int64_t>(0, -behind)};
  }
  if (c.wants(1)) {
    const Attrs all = {{"keepdims", int64_t(0)}};
    const std::string border =
        s.add("sub", {s.add("reduce_sum", {"dy0"}, all), s.add("reduce_sum", {inside}, all)});
    s.give(1, s.in(1).shape.empty() ? border : s.reshape(border, s.in(1).shape));
  }
  // Elements that the padding cuts off go nowhere.
  for (size_t d = 0; d < x.size(); ++d)
    inside = s.pad(inside, int(x.size()), int64_t(d), cut[d].first, cut[d].second);
  if (c.wants(0)) s.give(0, inside);
  return true;
}

bool gradient_of_tile(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const std::vector<int64_t> repeats = attr_ints(c.op, c.attrs, "repeats");
  Shape apart;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] != 1) {
      axes.push_back(int64_t(apart.size()));
      apart.push_back(repeats[d]);
    }
    apart.push_back(s.in().shape[d]);
  }
  if (axes.empty()) {
    s.give(0, "dy0");
  } else {
    s.give(0, s.add("reduce_sum", {s.reshape("dy0", apart)}, {{"axes", axes}, {"keepdims", int64_t(0)}}));
  }
  return true;
}

bool gradient_of_expand(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  s.give(0, "dy0", s.out().shape);
  return true;
}

// A triangle that is kept, rows in another order that is its own inverse.
bool gradient_by_itself(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  std::vector<std::string> operands = {"dy0"};
  for (size_t k = 1; k < c.inputs.size(); ++k) operands.push_back(GradientSteps::x(k));
  s.give(0, s.add(std::string(c.op.name), operands, c.attrs));
  return true;
}

// Rows that copy elements to places that do not depend on values: where each element of the result comes from
// is found by moving the numbers of the elements, and the gradient goes back there.
bool gradient_of_places(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  Tensor numbers(TensorType{DataType::f64, c.inputs[0]->shape});
  for (int64_t i = 0; i < numbers.elements(); ++i) numbers.set(i, double(i));
  std::vector<Tensor> moved;
  Diag diag;
  if (!evaluate(c.op, c.attrs, std::vector<Tensor>{numbers}, moved, diag))
    return fail(error, diag.to_string());
  std::vector<double> from;
  std::vector<int64_t> users(size_t(numbers.elements()), 0), place(users.size(), 0);
  for (int64_t i = 0; i < moved[0].elements(); ++i) {
    const auto at = moved[0].get_int(i);
    from.push_back(double(at));
    ++users[size_t(at)];
    place[size_t(at)] = i;
  }
  GradientSteps s(c, steps);
  const std::string dy = s.reshape("dy0", {s.out().elements()});
  if (std::all_of(users.begin(), users.end(), [](int64_t n) { return n == 1; })) {
    const std::vector<double> order(place.begin(), place.end());
    const std::string places = s.constant(order, {numbers.elements()}, DataType::i32);
    s.give(0, s.reshape(s.add("gather", {dy, places}), s.in().shape));
    return true;
  }
  const std::string places = s.constant(from, {s.out().elements()}, DataType::i32);
  const std::string none = s.zeros({s.in().dtype, {s.in().elements()}});
  const std::string sum = s.add("scatter_elements", {none, places, dy}, {{"reduction", std::string("add")}});
  s.give(0, s.reshape(sum, s.in().shape));
  return true;
}

}  // namespace cs::ops

// Gradients of what takes elements at places that another operand names: they are added up at those places.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

const Attrs kAdd = {{"reduction", std::string("add")}};

Attrs along(int64_t axis, bool add) {
  Attrs attrs = {{"axis", axis}};
  if (add) attrs.push_back(kAdd[0]);
  return attrs;
}

// Indices with another dimension of extent 1 at the end: tuples of one.
std::string as_tuples(GradientSteps& s, const std::string& index, const TensorType& type) {
  Shape shape = type.shape;
  shape.push_back(1);
  return s.reshape(index, shape);
}

}  // namespace

// The dimensions that the indices made are brought to the front, so that whole rows are added up.
bool gradient_of_gather(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const std::optional<int> axis = axis_of(c.context(), "axis", error);
  if (!axis) return false;
  GradientSteps s(c, steps);
  const int wide = s.in(1).rank(), rank = s.in().rank();
  std::vector<int64_t> front, back;
  for (int d = 0; d < wide; ++d) front.push_back(*axis + d);
  Shape rows{s.in().shape[size_t(*axis)]};
  for (int d = 0; d < rank; ++d) {
    if (d == *axis) continue;
    front.push_back(d < *axis ? d : d - 1 + wide);
    rows.push_back(s.in().shape[size_t(d)]);
    back.push_back(d < *axis ? d + 1 : d);
  }
  back.insert(back.begin() + *axis, 0);
  const std::string dy = *axis == 0 ? "dy0" : s.transpose("dy0", front);
  const std::string sum =
      s.add("scatter_nd", {s.zeros({s.in().dtype, rows}), as_tuples(s, "x1", s.in(1)), dy}, kAdd);
  s.give(0, *axis == 0 ? sum : s.transpose(sum, back));
  return true;
}

bool gradient_of_gather_elements(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  s.give(0, s.add("scatter_elements", {s.zeros(s.in()), "x1", "dy0"},
                  along(attr_int(c.op, c.attrs, "axis"), true)));
  return true;
}

// Dimensions of the batch become places of their own.
bool gradient_of_gather_nd(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  std::string index = "x1";
  const Shape& shape = s.in(1).shape;
  const auto batch = size_t(attr_int(c.op, c.attrs, "batch_dims"));
  std::vector<std::string> columns;
  for (size_t d = 0; d < batch; ++d) {
    int64_t inner = 1;
    for (size_t e = d + 1; e + 1 < shape.size(); ++e) inner *= shape[e];
    std::vector<double> numbers;
    for (int64_t i = 0; i < s.in(1).elements() / shape.back(); ++i)
      numbers.push_back(double(i / inner % shape[d]));
    Shape column = shape;
    column.back() = 1;
    columns.push_back(s.constant(numbers, column, s.in(1).dtype));
  }
  if (batch > 0) {
    columns.push_back(index);
    index = s.add("concat", columns, {{"axis", int64_t(-1)}});
  }
  s.give(0, s.add("scatter_nd", {s.zeros(s.in()), index, "dy0"}, kAdd));
  return true;
}

// Places that take new values pass nothing to the old ones.
bool gradient_of_scatter(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const std::string reduction = attr_text(c.op, c.attrs, "reduction");
  if (reduction != "none" && reduction != "add")
    return fail(error, fmt::format("reduction '{}' has no rule, 'none' and 'add' have", reduction));
  GradientSteps s(c, steps);
  const bool elements = c.op.name == "scatter_elements";
  const Attrs axis = elements ? along(attr_int(c.op, c.attrs, "axis"), false) : Attrs{};
  if (c.wants(0) && reduction == "add") s.give(0, "dy0");
  if (c.wants(0) && reduction == "none")
    s.give(0, s.add(std::string(c.op.name), {"dy0", "x1", s.zeros(s.in(2))}, axis));
  if (c.wants(2)) s.give(2, s.add(elements ? "gather_elements" : "gather_nd", {"dy0", "x1"}, axis));
  return true;
}

bool gradient_of_top_k(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  steps.push_back({{"values", "places"}, "top_k", {"x0"}, c.attrs});
  s.give(0, s.add("scatter_elements", {s.zeros(s.in()), "places", "dy0"},
                  along(attr_int(c.op, c.attrs, "axis"), true)));
  return true;
}

// values = [off, on]
bool gradient_of_one_hot(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const std::string mask = s.add("one_hot", {"x0", s.constant({0, 1}, {2}, s.out().dtype)}, c.attrs);
  const Attrs all = {{"keepdims", int64_t(0)}};
  const std::string on = s.add("reduce_sum", {s.add("mul", {"dy0", mask})}, all);
  const std::string off = s.add("sub", {s.add("reduce_sum", {"dy0"}, all), on});
  s.give(1, s.add("concat", {s.reshape(off, {1}), s.reshape(on, {1})}, {{"axis", int64_t(0)}}));
  return true;
}

}  // namespace cs::ops

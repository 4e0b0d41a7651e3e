// Convolutions over any number of dimensions, and their transposes.
//
// x[N, C, ...], weights [M, C / groups, kernel ...], y[N, M, ...]. Both are a padded copy of the operand, the
// bias in every element of the result, and one statement that adds the products of all windows.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"
#include "runtime/ops/windows.h"

namespace cs::ops {

namespace {

Shape kernel_of(const TensorType& w) {
  return w.shape.size() < 3 ? Shape{} : Shape(w.shape.begin() + 2, w.shape.end());
}

// Checks what both kinds share; channels of x are dimension `w_in` of the weights, times the groups there if
// `grouped`.
bool check_operands(const ShapeContext& c, size_t w_in, bool grouped, int64_t outs, std::string& error) {
  const TensorType &x = *c.inputs[0], &w = *c.inputs[1];
  if (!same_dtype(c, 0, error)) return false;
  int64_t groups = attr_int(c.op, c.attrs, "group");
  if (x.rank() < 3 || w.rank() != x.rank())
    return fail(error, fmt::format("operand {} and weights {} need 3 or more dimensions, equally many",
                                   type_text(x), type_text(w)));
  if (groups < 1 || w.shape[0] % groups != 0 || x.shape[1] != w.shape[w_in] * (grouped ? groups : 1))
    return fail(error, fmt::format("{} channels of {} do not fit weights {} in {} group{}", x.shape[1],
                                   type_text(x), type_text(w), groups, groups == 1 ? "" : "s"));
  std::vector<int64_t> stated = attr_ints(c.op, c.attrs, "kernel_shape");
  if (!stated.empty() && stated != kernel_of(w))
    return fail(
        error, fmt::format("kernel_shape {} is not that of the weights {}", dims_text(stated), type_text(w)));
  const TensorType* bias = c.input(2);
  if (bias != nullptr && bias->shape != Shape{outs})
    return fail(error, fmt::format("the bias {} needs {} elements", type_text(*bias), outs));
  return true;
}

bool shape_conv(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!check_operands(c, 1, true, c.inputs[1]->rank() > 0 ? c.inputs[1]->shape[0] : 0, error)) return false;
  std::optional<Window> window = window_of(c, kernel_of(*c.inputs[1]), error);
  if (!window) return false;
  Shape out{c.inputs[0]->shape[0], c.inputs[1]->shape[0]};
  for (const WindowAxis& a : *window) out.push_back(a.out);
  outputs = {{c.inputs[0]->dtype, std::move(out)}};
  return true;
}

// y[n, g, m, o...] = bias[g, m] + Σ c, k... x[n, g, c, window o, k] w[g, m, c, k].
// x has the windows at its end already; w is [groups, M / groups, C / groups, kernel...].
void accumulate(LoopBuilder& b, LoopView x, const LoopView& w, int64_t groups, int n) {
  LoopView y = b.result().split(1, {groups, w.shape[1]});
  x = x.split(1, {groups, w.shape[2]});
  if (b.has_operand(2)) {
    LoopView bias = b.operand(2).split(0, {groups, w.shape[1]});
    for (int d = 0; d < n; ++d) {
      bias.shape.push_back(1);
      bias.strides.push_back(0);
    }
    b.copy(y, bias);
  } else {
    b.fill(y, 0);
  }
  std::vector<int> dims_y = {0, 1, 2}, dims_x = {0, 1, -1}, dims_w = {-1, 0, 1};
  std::vector<int64_t> extents = y.shape;
  for (int d = 0; d < n; ++d) {
    dims_y.push_back(3 + d);
    dims_x.push_back(3 + d);
    dims_w.push_back(-1);
  }
  extents.push_back(w.shape[2]);
  dims_y.push_back(-1);
  dims_x.push_back(2);
  dims_w.push_back(2);
  for (int d = 0; d < n; ++d) {
    extents.push_back(w.shape[3 + size_t(d)]);
    dims_y.push_back(-1);
    dims_x.push_back(3 + n + d);
    dims_w.push_back(3 + d);
  }
  b.statement(extents, y.access(dims_y), {x.access(dims_x), w.access(dims_w)}, "x0 * x1", Combine::add);
}

bool loops_conv(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                std::string& error) {
  std::optional<Window> window = window_of(c, kernel_of(*c.inputs[1]), error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  int64_t groups = attr_int(c.op, c.attrs, "group");
  LoopView w = b.operand(1);
  accumulate(b, with_windows(padded(b, b.operand(0), *window, 0), *window),
             w.split(0, {groups, w.shape[0] / groups}), groups, int(window->size()));
  return true;
}

// ---- transposed

}  // namespace

std::optional<Window> transposed_window(const ShapeContext& c, std::string& error) {
  Shape kernel = kernel_of(*c.inputs[1]);
  const Shape& x = c.inputs[0]->shape;
  size_t n = kernel.size();
  auto strides = per_axis(c, "strides", n, 1, error), dilations = per_axis(c, "dilations", n, 1, error),
       pads = per_axis(c, "pads", 2 * n, 0, error), more = per_axis(c, "output_padding", n, 0, error),
       wanted = per_axis(c, "output_shape", n, 0, error);
  if (!strides || !dilations || !pads || !more || !wanted) return std::nullopt;
  std::string automatic = attr_text(c.op, c.attrs, "auto_pad");
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Window window;
  for (size_t d = 0; d < n; ++d) {
    WindowAxis a{x[d + 2], kernel[d], (*strides)[d], (*dilations)[d], 0, 0, 0};
    int64_t whole = a.stride * (a.in - 1) + (*more)[d] + a.reach();
    if (automatic == "NOTSET") {
      a.begin = (*pads)[d];
      a.end = (*pads)[d + n];
    }
    a.out = whole - a.begin - a.end;
    if (same || (*wanted)[d] > 0) {
      a.out = (*wanted)[d] > 0 ? (*wanted)[d] : a.in * a.stride;
      int64_t total = whole - a.out;
      int64_t half = (total - (total < 0 ? 1 : 0)) / 2;  // rounded down; negative: the result is larger
      a.begin = automatic == "SAME_UPPER" ? half : total - half;
      a.end = total - a.begin;
    }
    if (a.stride < 1 || a.dilation < 1 || a.kernel < 1 || a.out < 1) {
      error = fmt::format("dimension {} of {} with kernel {}, stride {} and padding {}, {} gives {} elements",
                          d + 2, type_text(*c.inputs[0]), a.kernel, a.stride, a.begin, a.end, a.out);
      return std::nullopt;
    }
    window.push_back(a);
  }
  return window;
}

namespace {

bool shape_conv_transpose(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  int64_t groups = attr_int(c.op, c.attrs, "group");
  int64_t outs = c.inputs[1]->rank() > 1 ? c.inputs[1]->shape[1] * groups : 0;
  if (!check_operands(c, 0, false, outs, error)) return false;
  std::optional<Window> window = transposed_window(c, error);
  if (!window) return false;
  Shape out{c.inputs[0]->shape[0], outs};
  for (const WindowAxis& a : *window) out.push_back(a.out);
  outputs = {{c.inputs[0]->dtype, std::move(out)}};
  return true;
}

// A convolution of x, stride - 1 zeros between its elements, with the reversed kernel.
bool loops_conv_transpose(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                          std::string& error) {
  std::optional<Window> window = transposed_window(c, error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), w = b.operand(1);
  int64_t groups = attr_int(c.op, c.attrs, "group");
  Shape shape = x.shape;
  for (size_t d = 0; d < window->size(); ++d) shape[d + 2] = (*window)[d].out + (*window)[d].reach() - 1;
  LoopView wide = b.temporary("spread", outputs[0].dtype, shape), to = wide;
  for (size_t d = 0; d < window->size(); ++d) {
    WindowAxis& a = (*window)[d];
    int dim = int(d) + 2;
    int64_t first = a.reach() - 1 - a.begin, extent = shape[d + 2];
    int64_t skip = first >= 0 ? 0 : (-first + a.stride - 1) / a.stride;
    int64_t last = extent - 1 - first < 0 ? -1 : std::min(a.in - 1, (extent - 1 - first) / a.stride);
    int64_t count = std::max<int64_t>(0, last - skip + 1);
    to = to.sliced(dim, count > 0 ? first + skip * a.stride : 0, count, a.stride);
    x = x.sliced(dim, skip, count);
    w = w.reversed(dim);
    a.stride = 1;
  }
  b.fill(wide, 0);
  b.copy(to, x);
  w = w.split(0, {groups, w.shape[0] / groups});
  std::vector<int> dims = {0, 2, 1};
  for (int d = 3; d < int(w.shape.size()); ++d) dims.push_back(d);
  accumulate(b, with_windows(wide, *window), w.permuted(dims), groups, int(window->size()));
  return true;
}

// With strides, as one without: of the elements of the operand that its windows of one element take, or else
// of its result those that are wanted. It stands beside the kernel that is made of the whole.
bool primitives_of_conv(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const std::vector<int64_t> strides = attr_ints(c.op, c.attrs, "strides"),
                             pads = attr_ints(c.op, c.attrs, "pads");
  const auto none_but = [](std::span<const int64_t> list, int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v == value; });
  };
  if (none_but(strides, 1) || attr_text(c.op, c.attrs, "auto_pad") != "NOTSET")
    return fail(error, "only strides have primitives");
  const size_t n = strides.size();
  Shape axes;
  for (size_t d = 0; d < n; ++d) axes.push_back(int64_t(d) + 2);
  const Attrs wanted = {
      {"starts", Shape(n, 0)}, {"ends", Shape(n, INT64_MAX)}, {"axes", axes}, {"steps", strides}};
  Attrs whole = c.attrs;
  set_attr(whole, "strides", Shape(n, 1));
  Steps s(steps);
  std::vector<std::string> operands = {"x", "w"};
  if (c.input(2) != nullptr) operands.emplace_back("b");
  if (none_but(kernel_of(*c.inputs[1]), 1) && none_but(pads, 0)) {
    operands[0] = s.add("slice", {"x"}, wanted);
    s.result("y", "conv", operands, whole);
  } else {
    s.result("y", "slice", {s.add("conv", operands, whole)}, wanted);
  }
  return true;
}

}  // namespace

void add_convolutions(Rows& t) {
  AttrDefs attrs = window_attrs();
  attrs.push_back(integers("kernel_shape"));
  attrs.push_back(integer("group", 1));
  t.push_back(by_loops(OpKind::loops, "conv", {"Conv"}, {"x", "w", "b"}, 1, attrs, shape_conv, loops_conv));
  t.back().primitives = primitives_of_conv;
  attrs.push_back(integers("output_padding"));
  attrs.push_back(integers("output_shape"));
  t.push_back(by_loops(OpKind::loops, "conv_transpose", {"ConvTranspose"}, {"x", "w", "b"}, 1, attrs,
                       shape_conv_transpose, loops_conv_transpose));
}

}  // namespace cs::ops

// Gradients of pools and of windows over channels.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/windows.h"

namespace cs::ops {

namespace {

std::optional<Window> pool_window(const GradientCall& c, std::string& error) {
  return window_of(c.context(), attr_ints(c.op, c.attrs, "kernel_shape"), error);
}

// Every window's value added to all elements of the window: a transposed convolution of each channel with
// ones.
std::string spread_over(GradientSteps& s, const std::string& value, const Window& window) {
  const int64_t channels = s.in().shape[1];
  Shape ones{channels, 1};
  for (const WindowAxis& a : window) ones.push_back(a.kernel);
  return windows_transposed(s, value, s.filled(1, {s.in().dtype, ones}), window, channels);
}

// Elements of each window that count, as far as one dimension goes.
std::vector<double> counts_of(const WindowAxis& a, bool pads_count) {
  std::vector<double> counts;
  for (int64_t o = 0; o < a.out; ++o) {
    double n = 0;
    for (int64_t k = 0; k < a.kernel; ++k) {
      const int64_t at = o * a.stride + k * a.dilation - a.begin;
      n += at >= (pads_count ? -a.begin : 0) && at < a.in + (pads_count ? a.end : 0) ? 1 : 0;
    }
    counts.push_back(n);
  }
  return counts;
}

}  // namespace

// The first of the largest elements takes the gradient of its window.
bool gradient_of_max_pool(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  steps.push_back({{"dx0"}, "max_pool_gradient", {"x0", "dy0"}, c.attrs});
  s.give(0, "dx0");
  return true;
}

bool gradient_of_average_pool(const GradientCall& c, std::vector<DecompositionStep>& steps,
                              std::string& error) {
  const auto window = pool_window(c, error);
  if (!window) return false;
  GradientSteps s(c, steps);
  const bool pads_count = attr_int(c.op, c.attrs, "count_include_pad") != 0;
  Shape shape{1, 1};
  std::vector<double> counts = {1};
  for (const WindowAxis& a : *window) {
    std::vector<double> wider;
    for (double before : counts)
      for (double own : counts_of(a, pads_count)) wider.push_back(before * own);
    counts = std::move(wider);
    shape.push_back(a.out);
  }
  const bool alike = std::all_of(counts.begin(), counts.end(), [&](double n) { return n == counts[0]; });
  const std::string divisor =
      alike ? s.constant(counts[0], s.in().dtype) : s.constant(counts, shape, s.in().dtype);
  s.give(0, spread_over(s, s.add("div", {"dy0", divisor}), *window));
  return true;
}

// y = (Σ |x|^p)^(1/p): dx = sign(x) |x|^(p - 1) Σ dy y^(1 - p), and 0 where the norm is.
bool gradient_of_lp_pool(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto window = pool_window(c, error);
  if (!window) return false;
  GradientSteps s(c, steps);
  const int64_t p = attr_int(c.op, c.attrs, "p");
  const auto power = [&](const std::string& v, double e) {
    return s.add("pow", {v, s.constant(e, s.in().dtype)});
  };
  std::string up = "dy0", own = p == 2 ? "x0" : s.add("sign", {"x0"});
  if (p != 1) up = s.add("div", {up, power(s.add("one_if_zero", {"y0"}), double(p - 1))});
  if (p > 2) own = s.add("mul", {own, power(s.add("abs", {"x0"}), double(p - 1))});
  s.give(0, s.add("mul", {own, spread_over(s, up, *window)}));
  return true;
}

bool gradient_of_max_unpool(const GradientCall& c, std::vector<DecompositionStep>& steps,
                            std::string& error) {
  if (!attr_ints(c.op, c.attrs, "output_shape").empty())
    return fail(error, "with output_shape there is no rule");
  GradientSteps s(c, steps);
  const std::string flat = s.reshape("dy0", {s.out().elements()}),
                    places = s.reshape("x1", {s.in().elements()});
  s.give(0, s.reshape(s.add("gather", {flat, places}), s.in().shape));
  return true;
}

// y = x s^-β with s = bias + α mean(x²) over a window of channels, zeros counted:
// dx = dy s^-β - 2 α β x mean'(dy x s^(-β - 1)), mean' over the windows that hold a channel.
bool gradient_of_lrn(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const int64_t size = attr_int(c.op, c.attrs, "size"), before = (size - 1) / 2, behind = size - 1 - before;
  const double alpha = attr_real(c.op, c.attrs, "alpha"), beta = attr_real(c.op, c.attrs, "beta"),
               bias = attr_real(c.op, c.attrs, "bias");
  const Shape& x = s.in().shape;
  int64_t inner = 1;
  for (size_t d = 2; d < x.size(); ++d) inner *= x[d];
  const auto mean = [&](const std::string& v, int64_t first, int64_t last) {
    const Shape kernel{size, 1}, pads{first, 0, last, 0};
    return s.reshape(s.add("average_pool", {s.reshape(v, {x[0], 1, x[1], inner})},
                           {{"kernel_shape", kernel}, {"pads", pads}, {"count_include_pad", int64_t(1)}}),
                     x);
  };
  const auto number = [&](double v) { return s.constant(v, s.in().dtype); };
  const std::string squares = mean(s.add("square", {"x0"}), before, behind);
  const std::string sum = s.add("add", {s.add("mul", {squares, number(alpha)}), number(bias)});
  const std::string direct = s.add("mul", {"dy0", s.add("pow", {sum, number(-beta)})});
  const std::string through = mean(s.add("div", {s.add("mul", {direct, "x0"}), sum}), behind, before);
  const std::string scaled = s.add("mul", {"x0", s.add("mul", {through, number(2 * alpha * beta)})});
  s.give(0, s.add("sub", {direct, scaled}));
  return true;
}

// Interpolation is linear along each dimension by itself. What weight an element has in another is found by
// resizing an operand that is 1 there and 0 elsewhere along that dimension.
bool gradient_of_resize(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  if (attr_text(c.op, c.attrs, "coordinate_transformation_mode") == "tf_crop_and_resize")
    return fail(error, "tf_crop_and_resize, which takes values from outside, has no rule");
  GradientSteps s(c, steps);
  const Shape &x = s.in().shape, &y = s.out().shape;
  std::string value = "dy0";
  const int rank = s.in().rank();
  for (size_t d = 0; d < x.size(); ++d) {
    std::vector<double> weights(size_t(y[d] * x[d]));
    int64_t x_inner = 1, y_inner = 1;
    for (size_t e = d + 1; e < x.size(); ++e) {
      x_inner *= x[e];
      y_inner *= y[e];
    }
    for (int64_t i = 0; i < x[d]; ++i) {
      Tensor line(TensorType{DataType::f64, x});
      for (int64_t at = 0; at < line.elements(); ++at) line.set(at, at / x_inner % x[d] == i ? 1 : 0);
      std::vector<Tensor> resized;
      Diag diag;
      if (!evaluate(c.op, c.attrs, std::vector<Tensor>{line}, resized, diag))
        return fail(error, diag.to_string());
      for (int64_t o = 0; o < y[d]; ++o) weights[size_t(o * x[d] + i)] = resized[0].get(o * y_inner);
    }
    bool same = x[d] == y[d];
    for (size_t at = 0; same && at < weights.size(); ++at)
      same = weights[at] == (int64_t(at) / x[d] == int64_t(at) % x[d] ? 1 : 0);
    if (same) continue;
    std::vector<int64_t> last = all_axes(rank);
    std::swap(last[d], last.back());
    const std::string product =
        s.add("matmul", {s.transpose(value, last), s.constant(weights, {y[d], x[d]}, s.in().dtype)});
    value = s.transpose(product, last);
  }
  s.give(0, value);
  return true;
}

}  // namespace cs::ops

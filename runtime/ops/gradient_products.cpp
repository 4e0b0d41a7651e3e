// Gradients of matrix products, Einstein sums and convolutions: products again, of the other factor with what
// comes from above.
#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/windows.h"

namespace cs::ops {

bool gradient_of_gemm(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const int64_t ta = attr_int(c.op, c.attrs, "trans_a") != 0 ? 1 : 0,
                tb = attr_int(c.op, c.attrs, "trans_b") != 0 ? 1 : 0;
  const double alpha = attr_real(c.op, c.attrs, "alpha"), beta = attr_real(c.op, c.attrs, "beta");
  const auto product = [&](const std::string& a, const std::string& b, int64_t trans_a, int64_t trans_b) {
    Attrs attrs = {{"trans_a", trans_a}, {"trans_b", trans_b}};
    if (alpha != 1) attrs.push_back({"alpha", alpha});
    return s.add("gemm", {a, b}, attrs);
  };
  if (c.wants(0)) s.give(0, ta != 0 ? product("x1", "dy0", tb, 1) : product("dy0", "x1", 0, 1 - tb));
  if (c.wants(1)) s.give(1, tb != 0 ? product("dy0", "x0", 1, ta) : product("x0", "dy0", 1 - ta, 0));
  if (c.wants(2)) {
    const std::string sum = s.summed("dy0", s.out().shape, s.in(2).shape);
    s.give(2, beta == 1 ? sum : s.add("mul", {sum, s.constant(beta, s.out().dtype)}));
  }
  return true;
}

namespace {

std::string transposed(GradientSteps& s, const std::string& v, size_t rank) {
  std::vector<int64_t> perm = all_axes(int(rank));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return s.transpose(v, perm);
}

Shape without_batch(const Shape& m) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < m.size(); ++d) rows *= m[d];
  return {rows, m.back()};
}

}  // namespace

// Vectors are matrices of one row or column. A factor that all members of the batch share gets one product
// over the rows of all of them; others that are repeated get a sum.
bool gradient_of_matmul(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  Shape a = s.in(0).shape, b = s.in(1).shape, y = s.out().shape;
  if (b.size() == 1) y.push_back(1);
  if (a.size() == 1) y.insert(y.end() - 1, 1);
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const auto shaped = [&](const std::string& v, const Shape& from, const Shape& to) {
    return from == to ? v : s.reshape(v, to);
  };
  const std::string dy = shaped("dy0", s.out().shape, y), x0 = shaped("x0", s.in(0).shape, a),
                    x1 = shaped("x1", s.in(1).shape, b);
  const auto give = [&](size_t k, const std::string& value, const Shape& from, const Shape& to) {
    s.give(k, shaped(s.summed(value, from, to), to, s.in(k).shape));
  };
  const auto batch = [&](int64_t rows, int64_t columns) {
    Shape shape(y.begin(), y.end() - 2);
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (c.wants(0)) {
    const std::string product = s.add("matmul", {dy, transposed(s, x1, b.size())});
    give(0, product, batch(m, k), a);
  }
  if (c.wants(1) && b.size() == 2) {
    const std::string rows = shaped(x0, a, without_batch(a)), up = shaped(dy, y, without_batch(y));
    give(1, s.add("gemm", {rows, up}, {{"trans_a", int64_t(1)}}), b, b);
  } else if (c.wants(1)) {
    give(1, s.add("matmul", {transposed(s, x0, a.size()), dy}), batch(k, n), b);
  }
  return true;
}

// ---- Einstein sums

namespace {

// Terms in letters alone: what "..." stands for takes letters that the equation does not have.
struct Terms {
  std::vector<std::string> inputs;
  std::string output;
};

std::optional<Terms> terms_of(const GradientCall& c, std::string& error) {
  std::string text = attr_text(c.op, c.attrs, "equation");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string rest;
  for (char l = 'z'; l >= 'a' && rest.size() < 8; --l)
    if (text.find(l) == std::string::npos) rest.insert(rest.begin(), l);
  const auto letters = [&](std::string term, size_t rank) {
    const size_t dots = term.find("...");
    if (dots == std::string::npos) return term;
    const size_t n = rank - (term.size() - 3);
    return term.replace(dots, 3, n <= rest.size() ? rest.substr(rest.size() - n) : "");
  };
  Terms t;
  std::string left = text.substr(0, arrow);
  for (size_t at = 0, k = 0; k < c.inputs.size(); ++k) {
    const size_t end = std::min(left.find(',', at), left.size());
    t.inputs.push_back(letters(left.substr(at, end - at), size_t(c.inputs[k]->rank())));
    at = end + 1;
  }
  if (arrow != std::string::npos) {
    t.output = letters(text.substr(arrow + 2), size_t(c.outputs[0].rank()));
  } else {
    // What "..." stands for, then letters that occur once, in their order.
    std::map<char, int> count;
    for (const std::string& term : t.inputs)
      for (char l : term) ++count[l];
    std::string once;
    for (const auto& [l, n] : count)
      if (n == 1 && rest.find(l) == std::string::npos) once += l;
    for (char l : rest)
      if (count.contains(l)) t.output += l;
    t.output += once;
  }
  if (t.output.size() == size_t(c.outputs[0].rank())) return t;
  error = fmt::format("'{}' stands for too many dimensions", text);
  return std::nullopt;
}

}  // namespace

// The sum over all labels of the gradient and the other operands that this operand lacks; along labels that
// nothing else has the gradient is repeated.
bool gradient_of_einsum(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const auto t = terms_of(c, error);
  if (!t) return false;
  GradientSteps s(c, steps);
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    if (!c.wants(k)) continue;
    const std::string& own = t->inputs[k];
    std::string left = t->output, made;
    std::vector<std::string> operands = {"dy0"};
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (i == k) continue;
      left += "," + t->inputs[i];
      operands.push_back(GradientSteps::x(i));
    }
    Shape shape;
    for (size_t d = 0; d < own.size(); ++d) {
      if (own.find(own[d]) != d)
        return fail(error, fmt::format("the diagonal that '{}' takes of an operand has no rule", own));
      // Repeated along it, or summed alone: extent 1 until the end.
      const bool known = left.find(own[d]) != std::string::npos && s.in(k).shape[d] != 1;
      if (known) made += own[d];
      shape.push_back(known ? s.in(k).shape[d] : 1);
    }
    std::string value = s.add("einsum", operands, {{"equation", left + "->" + made}});
    if (made.size() != own.size()) value = s.reshape(value, shape);
    s.give(k, shape == s.in(k).shape ? value : s.add("expand", {value}, {{"shape", s.in(k).shape}}));
  }
  return true;
}

// ---- convolutions

namespace {

// x along its dimensions behind the channels, without the elements at the end that no window reaches.
std::string reached(GradientSteps& s, std::string x, const Window& window, std::vector<int64_t>& pads) {
  pads.assign(2 * window.size(), 0);
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowAxis& a = window[d];
    const int64_t end = a.need() - a.begin - a.in;
    pads[d] = a.begin;
    pads[d + window.size()] = std::max<int64_t>(0, end);
    if (end < 0) x = s.slice(x, int64_t(d) + 2, 0, a.in + end);
  }
  return x;
}

// The gradient of weights [M, C / g, kernel]: for each channel of x and of dy, a convolution over all samples
// that has the windows' places as its kernel. Samples take the part of channels, channels that of samples.
std::string weight_gradient(GradientSteps& s, const std::string& x, Shape x_shape, const std::string& dy,
                            const Shape& dy_shape, const Window& window, int64_t groups) {
  std::vector<int64_t> pads, strides, dilations;
  std::string value = reached(s, x, window, pads);
  for (size_t d = 0; d < window.size(); ++d) {
    strides.push_back(window[d].dilation);
    dilations.push_back(window[d].stride);
    x_shape[d + 2] = std::min(window[d].in, window[d].need() - window[d].begin);
  }
  const int64_t samples = x_shape[0], each = x_shape[1] / groups;
  std::vector<int64_t> perm = all_axes(int(x_shape.size()));
  std::swap(perm[0], perm[1]);
  const std::vector<int64_t> swapped = perm;
  if (groups > 1) {
    Shape split = x_shape, joined = x_shape;
    split[1] = each;
    split.insert(split.begin() + 1, groups);
    perm = all_axes(int(split.size()));
    perm[0] = 2;
    perm[1] = 1;
    perm[2] = 0;
    joined[0] = each;
    joined[1] = groups * samples;
    value = s.reshape(s.transpose(s.reshape(value, split), perm), joined);
  } else {
    value = s.transpose(value, swapped);
  }
  const std::string up = s.transpose(dy, swapped);
  const Shape kernel(dy_shape.begin() + 2, dy_shape.end());
  const std::string product = s.add("conv", {value, up},
                                    {{"kernel_shape", kernel},
                                     {"strides", strides},
                                     {"dilations", dilations},
                                     {"pads", pads},
                                     {"group", groups}});
  return s.transpose(product, swapped);
}

// Attributes of the convolution or of its transpose over the same windows.
Attrs same_windows(const Window& window, int64_t groups, bool transpose) {
  const size_t n = window.size();
  std::vector<int64_t> kernel, strides, dilations, pads(2 * n, 0), more(n, 0);
  for (size_t d = 0; d < n; ++d) {
    const WindowAxis& a = window[d];
    const int64_t end = a.need() - a.begin - a.in;
    kernel.push_back(a.kernel);
    strides.push_back(a.stride);
    dilations.push_back(a.dilation);
    pads[d] = a.begin;
    pads[d + n] = std::max<int64_t>(0, end);
    more[d] = std::max<int64_t>(0, -end);
  }
  Attrs attrs = {{"kernel_shape", kernel},
                 {"strides", strides},
                 {"dilations", dilations},
                 {"pads", pads},
                 {"group", groups}};
  if (transpose && std::any_of(more.begin(), more.end(), [](int64_t v) { return v != 0; }))
    attrs.push_back({"output_padding", more});
  return attrs;
}

void give_bias(const GradientCall& c, GradientSteps& s) {
  if (!c.wants(2)) return;
  std::vector<int64_t> axes = all_axes(s.out().rank());
  axes.erase(axes.begin() + 1);
  s.give(2, s.add("reduce_sum", {"dy0"}, {{"axes", axes}, {"keepdims", int64_t(0)}}));
}

}  // namespace

std::string windows_transposed(GradientSteps& s, const std::string& dy, const std::string& weights,
                               const Window& window, int64_t groups) {
  return s.add("conv_transpose", {dy, weights}, same_windows(window, groups, true));
}

bool gradient_of_conv(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string& error) {
  const Shape& w = c.inputs[1]->shape;
  const auto window = window_of(c.context(), Shape(w.begin() + 2, w.end()), error);
  if (!window) return false;
  GradientSteps s(c, steps);
  const int64_t groups = attr_int(c.op, c.attrs, "group");
  if (c.wants(0)) s.give(0, windows_transposed(s, "dy0", "x1", *window, groups));
  if (c.wants(1)) s.give(1, weight_gradient(s, "x0", s.in().shape, "dy0", s.out().shape, *window, groups));
  give_bias(c, s);
  return true;
}

// The windows lie over the result: what was a convolution's operand is its gradient here.
bool gradient_of_conv_transpose(const GradientCall& c, std::vector<DecompositionStep>& steps,
                                std::string& error) {
  auto window = transposed_window(c.context(), error);
  if (!window) return false;
  GradientSteps s(c, steps);
  const int64_t groups = attr_int(c.op, c.attrs, "group");
  for (WindowAxis& a : *window) {
    if (a.begin < 0) return fail(error, "padding that adds elements in front has no rule");
    std::swap(a.in, a.out);
    a.end = std::max<int64_t>(0, a.need() - a.begin - a.in);
  }
  if (c.wants(0)) {
    std::vector<int64_t> pads;
    const std::string up = reached(s, "dy0", *window, pads);
    s.give(0, s.add("conv", {up, "x1"}, same_windows(*window, groups, false)));
  }
  if (c.wants(1)) s.give(1, weight_gradient(s, "dy0", s.out().shape, "x0", s.in().shape, *window, groups));
  give_bias(c, s);
  return true;
}

}  // namespace cs::ops

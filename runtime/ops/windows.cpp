// Window geometry: padding by attribute or by rule, positions, and the padded copy.
#include "runtime/ops/windows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

constexpr int kFirst = 2;  // dimensions before: samples and channels

void pad_automatically(WindowAxis& a, bool upper) {
  a.out = (a.in + a.stride - 1) / a.stride;
  int64_t total = std::max<int64_t>(0, a.need() - a.in);
  a.begin = upper ? total / 2 : total - total / 2;
  a.end = total - a.begin;
}

}  // namespace

std::vector<AttrDef> window_attrs(bool dilated) {
  AttrDefs attrs = {text("auto_pad", "NOTSET"), integers("pads"), integers("strides")};
  if (dilated) attrs.push_back(integers("dilations"));
  return attrs;
}

std::optional<std::vector<int64_t>> per_axis(const ShapeContext& c, std::string_view attr, size_t count,
                                             int64_t value, std::string& error) {
  Attrs all = with_defaults(c.op, c.attrs);
  std::vector<int64_t> list;
  if (find_attr(all, attr) != nullptr) list = attr_ints(c.op, c.attrs, attr);
  if (list.empty()) list.assign(count, value);
  if (list.size() == count) return list;
  error = fmt::format("'{}' has {} values, {} needs {}", attr, list.size(), type_text(*c.inputs[0]), count);
  return std::nullopt;
}

std::optional<Window> window_of(const ShapeContext& c, const Shape& kernel, std::string& error) {
  const TensorType& x = *c.inputs[0];
  size_t n = x.shape.size() < kFirst ? 0 : x.shape.size() - kFirst;
  if (n == 0 || kernel.size() != n) {
    error = fmt::format("a window of {} needs an operand with {} dimensions, got {}", dims_text(kernel),
                        kernel.size() + kFirst, type_text(x));
    return std::nullopt;
  }
  auto strides = per_axis(c, "strides", n, 1, error), dilations = per_axis(c, "dilations", n, 1, error),
       pads = per_axis(c, "pads", 2 * n, 0, error);
  if (!strides || !dilations || !pads) return std::nullopt;
  Attrs all = with_defaults(c.op, c.attrs);
  std::string automatic = attr_text(c.op, c.attrs, "auto_pad");
  bool ceil = find_attr(all, "ceil_mode") != nullptr && attr_int(c.op, c.attrs, "ceil_mode") != 0;
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "VALID" && automatic != "NOTSET") {
    error = fmt::format("auto_pad '{}' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", automatic);
    return std::nullopt;
  }
  Window window;
  for (size_t d = 0; d < n; ++d) {
    WindowAxis a{x.shape[d + kFirst], kernel[d], (*strides)[d], (*dilations)[d], 0, 0, 0};
    if (automatic == "NOTSET") {
      a.begin = (*pads)[d];
      a.end = (*pads)[d + n];
    }
    if (a.kernel < 1 || a.stride < 1 || a.dilation < 1 || a.begin < 0 || a.end < 0) {
      error = fmt::format("kernel {}, stride {}, dilation {} and pads {}, {} must not be that small",
                          a.kernel, a.stride, a.dilation, a.begin, a.end);
      return std::nullopt;
    }
    if (same) {
      pad_automatically(a, automatic == "SAME_UPPER");
    } else {
      int64_t room = a.in + a.begin + a.end - a.reach();
      a.out = room < 0 ? 0 : (room + (ceil ? a.stride - 1 : 0)) / a.stride + 1;
      // A window that would start behind the data and its padding in front does not count.
      if (ceil && a.out > 1 && (a.out - 1) * a.stride >= a.in + a.begin) --a.out;
    }
    if (a.out < 1) {
      error = fmt::format("a window of {} does not fit into dimension {} of {} with padding {} and {}",
                          a.reach(), d + kFirst, type_text(x), a.begin, a.end);
      return std::nullopt;
    }
    window.push_back(a);
  }
  return window;
}

LoopView padded(LoopBuilder& b, const LoopView& x, const Window& window, double value) {
  Shape shape = x.shape;
  LoopView from = x;
  bool inside = true;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowAxis& a = window[d];
    inside = inside && a.begin == 0 && a.need() <= a.in;
    // A multiple of what all windows move by: then rows lie as far apart as the grid of what is read.
    int64_t grid = std::gcd(a.stride, a.dilation);
    shape[d + kFirst] = (a.need() + grid - 1) / grid * grid;
  }
  if (inside) return x;
  LoopView wide = b.temporary("padded", b.type_of(x), shape), to = wide;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowAxis& a = window[d];
    int64_t extent = std::clamp<int64_t>(a.need() - a.begin, 0, a.in);
    to = to.sliced(int(d) + kFirst, extent > 0 ? a.begin : 0, extent);
    from = from.sliced(int(d) + kFirst, 0, extent);
  }
  b.fill(wide, value);
  b.copy(to, from);
  return wide;
}

LoopView with_windows(LoopView x, const Window& window) {
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowAxis& a = window[d];
    x = x.windows(int(d) + kFirst, a.out, a.stride, a.kernel, a.dilation);
  }
  return x;
}

}  // namespace cs::ops

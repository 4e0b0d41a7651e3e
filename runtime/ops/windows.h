// Sliding windows over the last dimensions of a tensor: what convolutions and pools share.
#pragma once

#include <optional>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

struct WindowAxis {
  int64_t in = 0, kernel = 1, stride = 1, dilation = 1;
  int64_t begin = 0, end = 0;  // padding
  int64_t out = 0;
  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  int64_t need() const { return (out - 1) * stride + reach(); }  // elements that the windows touch
};
using Window = std::vector<WindowAxis>;

// The attributes that all of them have.
std::vector<AttrDef> window_attrs(bool dilated = true);
// A list attribute with one value per dimension; empty: all `value`. Nothing (and an error) otherwise.
std::optional<std::vector<int64_t>> per_axis(const ShapeContext&, std::string_view attr, size_t count,
                                             int64_t value, std::string& error);
// From strides, dilations, pads, auto_pad and ceil_mode of the node, for operand 0 and this kernel.
std::optional<Window> window_of(const ShapeContext&, const Shape& kernel, std::string& error);

// Of a transposed convolution: `out` elements, of which `begin` were cut off in front.
std::optional<Window> transposed_window(const ShapeContext&, std::string& error);

// x with `value` around it, as far as the windows reach: x itself if they stay inside.
LoopView padded(LoopBuilder&, const LoopView& x, const Window&, double value);
// Dimensions 2, 3, … of x become positions of windows; the elements of a window are new dimensions at the
// end.
LoopView with_windows(LoopView x, const Window&);

}  // namespace cs::ops

// Staircases of outlines: which (width, height) a kernel or a group of kernels can have. Widths ascend,
// heights descend, no point is worse than another one in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cs::mapping {

struct Outline {
  int16_t w = 0, h = 0;
  bool operator==(const Outline&) const = default;
};
using ShapeCurve = std::vector<Outline>;

// Both groups side by side, the outlines up to `limit`. `out` must be neither of them.
void combine_beside(const ShapeCurve& a, const ShapeCurve& b, Outline limit, ShapeCurve& out);
// One group above the other.
void combine_stacked(const ShapeCurve& a, const ShapeCurve& b, Outline limit, ShapeCurve& out);

// The narrowest outline of at most this height; the lowest of at most this width. The curve must have one. `at`: where
// it was the last time, which is looked at first, and is now.
Outline narrowest(const ShapeCurve&, int height, size_t& at);
Outline lowest(const ShapeCurve&, int width, size_t& at);

// The smallest factor by which the box w x h must grow to hold one of the outlines, and that outline.
// Infinite if the curve is empty.
struct Fit {
  double factor = 0;
  Outline outline;
};
Fit best_fit(const ShapeCurve&, int w, int h);

}  // namespace cs::mapping

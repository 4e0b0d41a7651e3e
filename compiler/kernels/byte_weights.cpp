// The scale of a row is its largest element divided by one of 1 to 128: each is tried, with its neighbours,
// since the division was rounded.
#include "compiler/kernels/byte_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cs::kernels {

namespace {

constexpr int kLowest = -128, kHighest = 127;

bool is_scale(std::span<const float> row, float scale) {
  if (!(scale > 0) || !std::isfinite(scale)) return false;
  return std::all_of(row.begin(), row.end(), [&](float w) {
    const float steps = std::nearbyint(w / scale);
    return steps >= float(kLowest) && steps <= float(kHighest) && steps * scale == w;
  });
}

std::optional<float> scale_of(std::span<const float> row) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  float largest = 0;
  for (float w : row) {
    if (!std::isfinite(w)) return std::nullopt;
    largest = std::max(largest, std::fabs(w));
  }
  if (largest == 0) return 0.0F;
  for (int steps = 1; steps <= -kLowest; ++steps) {
    const float near = largest / float(steps);
    for (float scale : {near, std::nextafter(near, 0.0F), std::nextafter(near, kInf)}) {
      if (is_scale(row, scale)) return scale;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<float>> byte_scales(std::span<const float> w, int64_t m, int64_t n) {
  std::vector<float> scales;
  for (int64_t i = 0; i < m; ++i) {
    const std::optional<float> scale = scale_of(w.subspan(size_t(i * n), size_t(n)));
    if (!scale) return std::nullopt;
    scales.push_back(*scale);
  }
  return scales;
}

int byte_of(float weight, float scale) { return scale == 0 ? 0 : int(std::nearbyint(weight / scale)); }

}  // namespace cs::kernels

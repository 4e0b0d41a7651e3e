// Coordinates, filters, and the search for pieces with one affine rule.
#include "runtime/ops/resampling.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace cs::ops {

namespace {

std::optional<double> coordinate(const AxisResize& a, const std::string& mode, double x) {
  double in = double(a.in), out = double(a.out);
  if (mode == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (mode == "pytorch_half_pixel") return a.out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (mode == "half_pixel_symmetric") return in / 2 * (1 - out / (a.scale * in)) + (x + 0.5) / a.scale - 0.5;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "align_corners") return a.out > 1 ? x * (in - 1) / (out - 1) : 0;
  if (mode == "tf_crop_and_resize")
    return a.out > 1 ? a.start * (in - 1) + x * (a.end - a.start) * (in - 1) / (out - 1)
                     : 0.5 * (a.start + a.end) * (in - 1);
  return std::nullopt;
}

std::optional<int64_t> nearest(const std::string& mode, double x) {
  if (mode == "round_prefer_floor") return int64_t(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil") return int64_t(std::floor(x + 0.5));
  if (mode == "floor") return int64_t(std::floor(x));
  if (mode == "ceil") return int64_t(std::ceil(x));
  return std::nullopt;
}

double cubic(double distance, double a) {
  double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Weights around x: a filter of radius 1 (linear) or 2 (cubic), wider where an antialiased axis shrinks.
Taps filtered(const AxisResize& a, const ResizeMode& m, double x) {
  double squeeze = m.antialias ? std::min(1.0, a.scale) : 1;
  auto radius = int64_t(std::ceil((m.mode == "cubic" ? 2 : 1) / squeeze));
  auto left = int64_t(std::floor(x));
  Taps taps;
  double sum = 0;
  for (int64_t i = left - radius + 1; i <= left + radius; ++i) {
    double d = (double(i) - x) * squeeze;
    double w = m.mode == "cubic" ? cubic(d, m.cubic_a) : std::max(0.0, 1 - std::fabs(d));
    if (w == 0 || (m.exclude_outside && (i < 0 || i >= a.in))) continue;
    taps.emplace_back(std::clamp<int64_t>(i, 0, a.in - 1), w);
    sum += w;
  }
  for (auto& [i, w] : taps) w /= sum;
  return taps;
}

bool moved(const Taps& from, const Taps& to, int64_t by) {
  if (from.size() != to.size()) return false;
  for (size_t k = 0; k < from.size(); ++k) {
    if (from[k].first + by != to[k].first || std::fabs(from[k].second - to[k].second) > 1e-9) return false;
  }
  return true;
}

// How many elements first, first + step, … are free and follow the rule of the first two.
Piece run_from(const std::vector<Taps>& taps, const std::vector<bool>& taken, int64_t first, int64_t step) {
  Piece p{first, step, 1, 0};
  auto n = int64_t(taps.size());
  const Taps& start = taps[size_t(first)];
  if (first + step >= n || start.empty() != taps[size_t(first + step)].empty()) return p;
  if (!start.empty()) p.advance = taps[size_t(first + step)][0].first - start[0].first;
  while (first + p.count * step < n && !taken[size_t(first + p.count * step)] &&
         moved(start, taps[size_t(first + p.count * step)], p.count * p.advance)) {
    ++p.count;
  }
  return p;
}

}  // namespace

std::optional<std::vector<Taps>> taps_of(const AxisResize& a, const ResizeMode& m, std::string& error) {
  std::vector<Taps> all;
  if (m.mode != "nearest" && m.mode != "linear" && m.mode != "cubic") {
    error = fmt::format("mode '{}' is none of nearest, linear, cubic", m.mode);
    return std::nullopt;
  }
  for (int64_t o = 0; o < a.out; ++o) {
    std::optional<double> x = coordinate(a, m.coordinates, double(o));
    std::optional<int64_t> near = nearest(m.nearest, x.value_or(0));
    if (!x || !near) {
      error = !x ? fmt::format("coordinate_transformation_mode '{}' is not known", m.coordinates)
                 : fmt::format("nearest_mode '{}' is not known", m.nearest);
      return std::nullopt;
    }
    if (m.coordinates == "tf_crop_and_resize" && (*x < 0 || *x > double(a.in - 1))) {
      all.emplace_back();
      continue;
    }
    Taps taps =
        m.mode == "nearest" ? Taps{{std::clamp<int64_t>(*near, 0, a.in - 1), 1.0}} : filtered(a, m, *x);
    std::map<int64_t, double> merged;  // taps beyond the border fall onto its element
    for (const auto& [i, w] : taps) merged[i] += w;
    all.emplace_back(merged.begin(), merged.end());
  }
  return all;
}

std::vector<Piece> pieces_of(const std::vector<Taps>& taps) {
  constexpr int64_t kLongestStep = 64;
  std::vector<Piece> pieces;
  std::vector<bool> taken(taps.size(), false);
  auto n = int64_t(taps.size());
  for (int64_t first = 0; first < n; ++first) {
    if (taken[size_t(first)]) continue;
    Piece best{first, 1, 1, 0};
    for (int64_t step = 1; step <= std::min(kLongestStep, n - 1); ++step) {
      Piece p = run_from(taps, taken, first, step);
      if (p.count > best.count) best = p;
    }
    for (int64_t k = 0; k < best.count; ++k) taken[size_t(first + k * best.step)] = true;
    pieces.push_back(best);
  }
  return pieces;
}

}  // namespace cs::ops

// Combining walks both staircases once: the taller (or the wider) group decides, so only that one is changed
// next.
#include "compiler/mapping/shape_curve.h"

#include <algorithm>
#include <limits>

namespace cs::mapping {

namespace {

// Room for so many outlines, whatever they are.
Outline* scratch(size_t size) {
  static thread_local std::vector<Outline> list;
  if (list.size() < size) list.resize(size);
  return list.data();
}

}  // namespace

void combine_beside(const ShapeCurve& a, const ShapeCurve& b, Outline limit, ShapeCurve& out) {
  const Outline *p = a.data(), *p_end = p + a.size(), *q = b.data(), *q_end = q + b.size();
  Outline *const begin = scratch(a.size() + b.size()), *to = begin;
  while (p != p_end && q != q_end) {
    const int w = p->w + q->w;
    if (w > limit.w) break;
    *to++ = {int16_t(w), std::max(p->h, q->h)};
    const bool left = p->h >= q->h, right = q->h >= p->h;
    p += left ? 1 : 0;
    q += right ? 1 : 0;
  }
  out.assign(begin, to);
}

void combine_stacked(const ShapeCurve& a, const ShapeCurve& b, Outline limit, ShapeCurve& out) {
  const Outline *p = a.data() + a.size(), *q = b.data() + b.size();
  Outline *const end = scratch(a.size() + b.size()) + a.size() + b.size(), *to = end;
  while (p != a.data() && q != b.data()) {
    const int h = p[-1].h + q[-1].h;
    if (h > limit.h) break;
    *--to = {std::max(p[-1].w, q[-1].w), int16_t(h)};
    const bool upper = p[-1].w >= q[-1].w, lower = q[-1].w >= p[-1].w;
    p -= upper ? 1 : 0;
    q -= lower ? 1 : 0;
  }
  out.assign(to, end);
}

Outline narrowest(const ShapeCurve& c, int height, size_t& at) {
  const bool same = at < c.size() && c[at].h <= height && (at == 0 || c[at - 1].h > height);
  if (!same) {
    const auto found = std::partition_point(c.begin(), c.end(), [&](const Outline& o) { return o.h > height; });
    at = size_t(found - c.begin());
  }
  return c[at];
}

Outline lowest(const ShapeCurve& c, int width, size_t& at) {
  const bool same = at < c.size() && c[at].w <= width && (at + 1 == c.size() || c[at + 1].w > width);
  if (!same) {
    const auto behind = std::partition_point(c.begin(), c.end(), [&](const Outline& o) { return o.w <= width; });
    at = size_t(behind - c.begin()) - 1;
  }
  return c[at];
}

Fit best_fit(const ShapeCurve& c, int w, int h) {
  Fit fit{std::numeric_limits<double>::infinity(), {}};
  const auto consider = [&](const Outline& o) {
    const double factor = std::max(double(o.w) / w, double(o.h) / h);
    if (factor < fit.factor) fit = {factor, o};
  };
  // Along the curve o.w / w rises and o.h / h falls: the best point is beside the crossing.
  const auto crossing = std::partition_point(
      c.begin(), c.end(), [&](const Outline& o) { return double(o.w) / w < double(o.h) / h; });
  if (crossing != c.end()) consider(*crossing);
  if (crossing != c.begin()) consider(*std::prev(crossing));
  return fit;
}

}  // namespace cs::mapping

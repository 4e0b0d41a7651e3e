// Legality and score in integers of 128 bits; positions doubled, so that centres are whole.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/mapping/kgraph.h"

namespace cs::mapping::kgraph {

namespace {

using Wide = __int128;

int64_t parts(int64_t quarters, int64_t split) { return (quarters + 4 * split - 1) / (4 * split); }

struct Performance {
  int64_t height = 0, width = 0;
  double time = 0;
  bool memory_ok = true;
};

Performance perform(const Kernel& k, const Execution& e, int64_t memlimit) {
  Performance p;
  const size_t n = k.convs.size();
  const int64_t h = e[0], w = e[1];
  for (size_t i = 0; i < n; ++i) {
    const Conv& v = k.convs[i];
    const int64_t c = e[2 + i], f = e[2 + n + i];
    p.height = std::max(p.height, h * w * (c + 1));
    p.width += 3 * f;
    const int64_t steps = parts(v.H4, h) * parts(v.W4, w) * parts(v.C4, c) * parts(v.K4, f) * v.R * v.S;
    p.time = std::max(p.time, double(steps) / double(v.T * v.T));
    // (C/c)(K/k)RS + ((W+S-1)/w)((H+R-1)/h)(K/k) <= memlimit, times 64·c·k·h·w.
    const Wide filters = Wide(4) * v.C4 * v.K4 * v.R * v.S * h * w;
    const Wide picture = Wide(v.W4 + 4 * (v.S - 1)) * (v.H4 + 4 * (v.R - 1)) * v.K4 * c;
    p.memory_ok = p.memory_ok && filters + picture <= Wide(64) * memlimit * c * f * h * w;
  }
  return p;
}

}  // namespace

Score check(const Graph& g, const Solution& solution) {
  Score s;
  std::vector<Rect> rects;
  if (solution.size() != g.kernels.size()) {
    s.violations.push_back("not every kernel is placed");
    return s;
  }
  for (size_t i = 0; i < g.kernels.size(); ++i) {
    const Kernel& k = g.kernels[i];
    const Placed& p = solution[i];
    if (p.execution.size() != 2 + 2 * k.convs.size() ||
        std::any_of(p.execution.begin(), p.execution.end(), [](int a) { return a < 1; })) {
      s.violations.push_back(k.name + ": execution arguments must be whole numbers from 1 on");
      return s;
    }
    const Performance f = perform(k, p.execution, g.memlimit);
    s.delta_t = std::max(s.delta_t, f.time);
    if (!f.memory_ok) s.violations.push_back(k.name + ": more memory than a tile has");
    const Rect r{p.x, p.y, int(p.turned ? f.height : f.width), int(p.turned ? f.width : f.height)};
    if (r.x < 0 || r.y < 0 || r.x + r.w > g.width || r.y + r.h > g.height)
      s.violations.push_back(
          fmt::format("{}: {} x {} at ({}, {}) leaves the fabric", k.name, r.w, r.h, r.x, r.y));
    for (size_t j = 0; j < i; ++j)
      if (r.intersects(rects[j])) s.violations.push_back(k.name + " overlaps " + g.kernels[j].name);
    rects.push_back(r);
  }
  int64_t twice = 0;
  for (const auto& [from, to] : g.wires) {
    const Rect &a = rects[size_t(from)], &b = rects[size_t(to)];
    twice += std::abs(2 * a.x + a.w - 2 * b.x - b.w) + std::abs(2 * a.y + a.h - 2 * b.y - b.h);
  }
  s.length = double(twice) / 2;
  s.sum = g.wdeltat * s.delta_t + g.wlength * s.length;
  return s;
}

}  // namespace cs::mapping::kgraph

// Alternatives of a kernel: for every split h, w of the picture and every c, the smallest k of each conv that
// reaches a time and fits the memory, for all times from the largest wanted one down to the bound. Only those
// stay that no other one beats in width, height and time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "compiler/mapping/kgraph.h"

namespace cs::mapping::kgraph {

namespace {

int64_t parts(int64_t quarters, int64_t split) { return (quarters + 4 * split - 1) / (4 * split); }

struct Option {
  Alternative shape;
  Execution execution;
};

// The splits of H and W that change a number of parts.
std::vector<int> splits(const Kernel& k, int64_t Conv::*extent, int limit) {
  std::vector<int> out;
  for (int s = 1; s <= limit; ++s) {
    bool changes = s == 1;
    for (const Conv& v : k.convs) changes = changes || parts(v.*extent, s) != parts(v.*extent, s - 1);
    if (changes) out.push_back(s);
    bool done = true;
    for (const Conv& v : k.convs) done = done && parts(v.*extent, s) == 1;
    if (done) break;
  }
  return out;
}

class Sizes {
 public:
  Sizes(const Kernel& k, const Graph& g)
      : k_(k),
        side_(std::max(g.width, g.height)),
        memlimit_(double(g.memlimit)),
        hs_(splits(k, &Conv::H4, side_)),
        ws_(splits(k, &Conv::W4, side_)) {}

  // Smallest k of every conv for h, w, c and a time; false if there is none within the fabric.
  bool smallest(int h, int w, int c, double time, Option& o) const {
    const size_t n = k_.convs.size();
    o.execution.assign(2 + 2 * n, 0);
    o.execution[0] = h;
    o.execution[1] = w;
    int64_t sum = 0;
    double reached = 0;
    for (size_t i = 0; i < n; ++i) {
      const Conv& v = k_.convs[i];
      const int ci = int(std::min<int64_t>(c, (v.C4 + 3) / 4));
      const double rest =
          double(parts(v.H4, h) * parts(v.W4, w) * parts(v.C4, ci) * v.R * v.S) / double(v.T * v.T);
      const auto passes = int64_t(std::floor(time / rest * (1 + 1e-12)));
      if (passes < 1) return false;
      // Memory is (K/k) · (C/c·R·S + picture).
      const double per_feature =
          double(v.C4) / 4 / ci * double(v.R * v.S) +
          (double(v.W4) / 4 + double(v.S - 1)) / w * (double(v.H4) / 4 + double(v.R - 1)) / h;
      const double by_memory = std::ceil(double(v.K4) / 4 * per_feature / memlimit_ * (1 - 1e-12));
      const int64_t k = std::max(parts(v.K4, passes), int64_t(by_memory));
      o.execution[2 + i] = ci;
      o.execution[2 + n + i] = int(k);
      sum += 3 * k;
      if (sum > side_) return false;
      reached = std::max(reached, rest * double(parts(v.K4, k)));
    }
    o.shape = {int(sum),
               h * w * (*std::max_element(o.execution.begin() + 2, o.execution.begin() + 2 + long(n)) + 1),
               reached};
    return true;
  }

  template <typename F>
  void for_each(F f) const {
    for (const int h : hs_)
      for (const int w : ws_)
        for (int c = 1; h * w * (c + 1) <= side_; ++c) {
          f(h, w, c);
          if (std::all_of(k_.convs.begin(), k_.convs.end(), [&](const Conv& v) { return 4 * c >= v.C4; }))
            break;
        }
  }

 private:
  const Kernel& k_;
  int side_;
  double memlimit_;
  std::vector<int> hs_, ws_;
};

bool inside(const Alternative& a, const Graph& g) {
  return (a.w <= g.width && a.h <= g.height) || (a.h <= g.width && a.w <= g.height);
}

// Smallest area at this time; infinite if there is none.
double least_area(const Sizes& sizes, const Graph& g, double time) {
  double least = std::numeric_limits<double>::infinity();
  Option o;
  sizes.for_each([&](int h, int w, int c) {
    if (sizes.smallest(h, w, c, time, o) && inside(o.shape, g))
      least = std::min(least, double(o.shape.w) * o.shape.h);
  });
  return least;
}

std::vector<Option> options_of(const Sizes& sizes, const Graph& g, double fastest, double slowest) {
  std::vector<Option> all;
  sizes.for_each([&](int h, int w, int c) {
    Option o;
    for (double time = slowest; sizes.smallest(h, w, c, time, o); time = o.shape.cost * (1 - 1e-9)) {
      if (inside(o.shape, g)) all.push_back(o);
      if (o.shape.cost <= fastest) break;
    }
  });
  std::stable_sort(all.begin(), all.end(), [](const Option& a, const Option& b) {
    return std::tie(a.shape.cost, a.shape.w, a.shape.h) < std::tie(b.shape.cost, b.shape.w, b.shape.h);
  });
  std::vector<int> least(size_t(std::max(g.width, g.height)) + 1, std::numeric_limits<int>::max());
  std::vector<Option> kept;
  for (Option& o : all) {
    if (least[size_t(o.shape.w)] <= o.shape.h) continue;
    for (size_t w = size_t(o.shape.w); w < least.size() && least[w] > o.shape.h; ++w) least[w] = o.shape.h;
    kept.push_back(std::move(o));
  }
  return kept;
}

// Kernels with the same formal arguments share a kind.
struct Kinds {
  std::vector<int> of_kernel, first;  // kind of each kernel; a kernel of each kind
};
Kinds kinds_of(const Graph& g) {
  Kinds kinds;
  std::map<std::pair<std::string, std::vector<int64_t>>, int> known;
  for (size_t i = 0; i < g.kernels.size(); ++i) {
    const auto [it, fresh] =
        known.try_emplace({g.kernels[i].kind, g.kernels[i].formal}, int(kinds.first.size()));
    if (fresh) kinds.first.push_back(int(i));
    kinds.of_kernel.push_back(it->second);
  }
  return kinds;
}

std::vector<Sizes> sizes_of(const Graph& g, const Kinds& kinds) {
  std::vector<Sizes> sizes;
  for (const int k : kinds.first) sizes.emplace_back(g.kernels[size_t(k)], g);
  return sizes;
}

// A time near the bound from above: the areas are summed at each time that bisection asks about.
std::optional<double> time_near_bound(const Graph& g, const Kinds& kinds, const std::vector<Sizes>& sizes) {
  std::vector<double> count(sizes.size(), 0);
  for (const int k : kinds.of_kernel) ++count[size_t(k)];
  const auto fits = [&](double time) {
    double area = 0;
    for (size_t k = 0; k < sizes.size(); ++k) area += count[k] * least_area(sizes[k], g, time);
    return area <= double(g.width) * g.height;
  };
  double low = 0, high = 1;
  while (!fits(high)) {
    low = high;
    high *= 4;
    if (high > 1e15) return std::nullopt;
  }
  for (int i = 0; i < 60 && high - low > 1e-7 * high; ++i)
    (fits((low + high) / 2) ? high : low) = (low + high) / 2;
  return high;
}

// Kernels along the dataflow: the first start of the placer lays them out in this order.
std::vector<int> dataflow_order(const Graph& g) {
  std::vector<int> waiting(g.kernels.size(), 0), order;
  for (const auto& [from, to] : g.wires) ++waiting[size_t(to)];
  std::vector<bool> done(g.kernels.size(), false);
  const auto visit = [&](auto&& self, int v) -> void {
    done[size_t(v)] = true;
    order.push_back(v);
    for (const auto& [from, to] : g.wires)
      if (from == v && --waiting[size_t(to)] == 0) self(self, to);
  };
  for (size_t i = 0; i < g.kernels.size(); ++i)
    if (!done[i] && waiting[i] == 0) visit(visit, int(i));
  for (size_t i = 0; i < g.kernels.size(); ++i)
    if (!done[i]) order.push_back(int(i));  // in a circle
  return order;
}

struct Problem {
  FloorplanProblem floorplan;
  std::vector<std::vector<Option>> options;  // by kind
  std::vector<int> order;                    // kernel at each place of floorplan.kernels
};

std::optional<Problem> make_problem(const Graph& g, double largest_gap) {
  const Kinds kinds = kinds_of(g);
  const std::vector<Sizes> sizes = sizes_of(g, kinds);
  const auto near = time_near_bound(g, kinds, sizes);
  if (!near) return std::nullopt;
  Problem p{{g.width, g.height, true, {}, {}, {}, g.wdeltat, g.wlength}, {}, dataflow_order(g)};
  for (const Sizes& s : sizes) {
    p.options.push_back(options_of(s, g, *near * (1 - 1e-6), *near * (1 + largest_gap)));
    auto& kind = p.floorplan.kinds.emplace_back();
    for (const Option& o : p.options.back()) kind.push_back(o.shape);
  }
  std::vector<int> place_of(g.kernels.size());
  for (size_t i = 0; i < p.order.size(); ++i) {
    place_of[size_t(p.order[i])] = int(i);
    p.floorplan.kernels.push_back(kinds.of_kernel[size_t(p.order[i])]);
  }
  for (const auto& [from, to] : g.wires)
    p.floorplan.wires.push_back({place_of[size_t(from)], place_of[size_t(to)], 1});
  return p;
}

}  // namespace

std::optional<double> area_bound(const Graph& g) {
  const auto problem = make_problem(g, 0.001);
  return problem ? mapping::area_bound(problem->floorplan) : std::nullopt;
}

std::optional<Solved> solve(const Graph& g, const std::string& path, const SolveOptions& o, Diag& diag) {
  const auto problem = make_problem(g, o.largest_gap);
  const auto bound = problem ? mapping::area_bound(problem->floorplan) : std::nullopt;
  if (!bound) {
    diag.error_at(path, "the kernels do not fit the fabric at any time", "a larger fabric or memlimit");
    return std::nullopt;
  }
  FloorplanOptions options = o.floorplan;
  options.max_cost = *bound * (1 + o.largest_gap);
  const auto plan = place_kernels(problem->floorplan, options);
  if (!plan) {
    diag.error_at(
        path, fmt::format("no placement within {:.0f} % of the area bound was found", 100 * o.largest_gap),
        "allow a larger gap or more moves");
    return std::nullopt;
  }
  Solved out{Solution(g.kernels.size()), *bound};
  for (size_t i = 0; i < plan->kernels.size(); ++i) {
    const PlacedKernel& k = plan->kernels[i];
    const Option& chosen = problem->options[size_t(problem->floorplan.kernels[i])][size_t(k.alternative)];
    out.solution[size_t(problem->order[i])] = {chosen.execution, k.rect.x, k.rect.y, k.turned};
  }
  return out;
}

}  // namespace cs::mapping::kgraph

// Cost levels, the annealer over slicing trees, parallel starts.
#include "compiler/mapping/floorplan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "compiler/mapping/known_floorplans.h"
#include "compiler/mapping/slicing_tree.h"
#include "runtime/support/parallel.h"
#include "runtime/support/progress.h"

namespace cs::mapping {

namespace {

// Temperatures as parts of the score at the bound; by measurement on graphs of 16 to 100 kernels.
constexpr double kHot = 0.01, kCold = 0.00005;
// Rectangles with more than this many times the area of the kernel's smallest one are not considered.
constexpr double kMostWaste = 1.2;
// A start that has found no place by this part of its moves hardly finds one, and none that is the best: of 54 boxes
// for networks of 6 to 65 kernels 32 were too small, and 20 of the others had their best place from a start that had
// found its first one by then.
constexpr double kGiveUp = 0.25;
constexpr int64_t kRound = 512;  // moves, until the level that can be had is looked for again
// How much more it counts that an outline does not fit at the most expensive level.
constexpr double kOverflow = 4;

bool fits_fabric(const Alternative& a, const FloorplanProblem& p) {
  return (a.w <= p.width && a.h <= p.height) || (p.may_turn && a.h <= p.width && a.w <= p.height);
}

// Costs that are worth telling apart: every one within half a per cent of its neighbours is enough near the
// bound.
std::vector<double> cost_levels(const FloorplanProblem& p, double bound, double max_cost) {
  std::vector<double> all;
  for (const auto& kind : p.kinds)
    for (const Alternative& a : kind)
      if (a.cost >= bound && a.cost <= max_cost) all.push_back(a.cost);
  std::sort(all.begin(), all.end());
  std::vector<double> levels;
  double next = bound;
  for (const double c : all) {
    if (c < next && !levels.empty()) continue;
    levels.push_back(c);
    next = c + bound * std::clamp((c - bound) / bound * 0.02, 0.0002, 0.005);
  }
  return levels;
}

// Staircases of every kind at every level.
class Levels {
 public:
  Levels(const FloorplanProblem& p, std::vector<double> levels, Outline limit)
      : cost(std::move(levels)), limit_(limit) {
    for (const auto& kind : p.kinds) curves_.push_back(staircases(kind, p.may_turn, limit));
  }
  const ShapeCurve& curve(int kind, size_t level) const { return curves_[size_t(kind)][level]; }
  Outline limit() const { return limit_; }
  std::vector<double> cost;

 private:
  std::vector<ShapeCurve> staircases(std::vector<Alternative> kind, bool may_turn, Outline limit) const {
    std::stable_sort(kind.begin(), kind.end(),
                     [](const Alternative& a, const Alternative& b) { return a.cost < b.cost; });
    std::vector<int> least(size_t(limit.w) + 1, limit.h + 1);  // height of the lowest of exactly this width
    const auto take = [&](int w, int h) {
      if (w <= limit.w && h < least[size_t(w)]) least[size_t(w)] = h;
    };
    std::vector<ShapeCurve> list;
    size_t at = 0;
    for (const double level : cost) {
      for (; at < kind.size() && kind[at].cost <= level; ++at) {
        take(kind[at].w, kind[at].h);
        if (may_turn) take(kind[at].h, kind[at].w);
      }
      double smallest = std::numeric_limits<double>::infinity();
      for (int w = 0; w <= limit.w; ++w)
        if (least[size_t(w)] <= limit.h) smallest = std::min(smallest, double(w) * least[size_t(w)]);
      ShapeCurve& c = list.emplace_back();
      for (int w = 0; w <= limit.w; ++w)
        if (least[size_t(w)] < (c.empty() ? limit.h + 1 : int(c.back().h)) &&
            double(w) * least[size_t(w)] <= kMostWaste * smallest)
          c.push_back({int16_t(w), int16_t(least[size_t(w)])});
    }
    return list;
  }
  Outline limit_;
  std::vector<std::vector<ShapeCurve>> curves_;  // by kind and level
};

// Twice the place of a wire's end, since centres lie between PEs.
struct End {
  int x = 0, y = 0;
};
inline End end_of(const FloorplanProblem& p, const Rect& r, bool leaves) {
  if (p.pins == Pins::centres) return {2 * r.x + r.w, 2 * r.y + r.h};
  return leaves ? End{2 * (r.x + r.w - 1), 2 * (r.y + r.h - 1)} : End{2 * r.x, 2 * r.y};
}
int to_edge(const FloorplanProblem& p, End e) {
  return std::max(0, std::min({e.x, e.y, 2 * (p.width - 1) - e.x, 2 * (p.height - 1) - e.y}));
}

double length_of(const FloorplanProblem& p, const std::vector<Rect>& r) {
  double twice = 0;
  for (const Wire& w : p.wires) {
    if (w.from == kEdge || w.to == kEdge) {
      const bool leaves = w.to == kEdge;
      twice += w.weight * to_edge(p, end_of(p, r[size_t(leaves ? w.from : w.to)], leaves));
      continue;
    }
    const End a = end_of(p, r[size_t(w.from)], true), b = end_of(p, r[size_t(w.to)], false);
    twice += w.weight * (std::abs(a.x - b.x) + std::abs(a.y - b.y));
  }
  return twice / 2;
}

class Annealer {
 public:
  Annealer(const FloorplanProblem& p, const Levels& levels, const std::vector<std::vector<int>>& wired,
           const Arrangement& arrangement, Outline limit, uint64_t seed)
      : p_(p), levels_(levels), tree_(wired, arrangement, limit), rng_(seed) {}

  // Some outline of the first tree is within the limit, or even within the fabric.
  bool starts_well(bool must_fit) {
    set_level(levels_.cost.size() - 1);
    return must_fit ? fits() : !tree_.root_curve().empty();
  }

  // `told` gets how many moves were made.
  template <typename F>
  void run(int64_t moves, const F& told) {
    anchor();
    double current = proxy();
    if (fits_) current = note_best();
    if (!std::isfinite(current)) current = std::numeric_limits<double>::max();
    const double scale = p_.cost_weight * levels_.cost.front();
    const double hot = kHot * scale, cold = kCold * scale;
    const auto give_up = int64_t(kGiveUp * double(moves));
    for (int64_t m = 0; m < moves; ++m) {
      if (m == give_up && !std::isfinite(best_score_)) return told(size_t(moves - m / kRound * kRound));
      if (m % kRound == kRound - 1) {
        told(size_t(kRound));
        anchor();
        current = proxy();
      }
      if (!tree_.move(rng_)) continue;
      const double temperature = hot * std::pow(cold / hot, double(m) / double(moves));
      const double most = current - temperature * std::log(1 - double(rng_.uniform()));
      const double now = proxy(most);
      if (now <= most) {
        current = now;
        if (now < best_score_ && fits_) current = note_best();
      } else {
        tree_.undo();
      }
    }
  }

  double best_score() const { return best_score_; }
  const std::vector<Rect>& best() const { return best_; }

 private:
  void set_level(size_t level) {
    level_ = level;
    leaves_.clear();
    for (const int kind : p_.kernels) leaves_.push_back(&levels_.curve(kind, level));
    tree_.set_leaves(leaves_);
  }
  bool fits() const { return best_fit(tree_.root_curve(), p_.width, p_.height).factor <= 1; }

  // The cheapest level that the tree can have, or the most expensive one.
  void anchor() {
    size_t low = 0, high = levels_.cost.size() - 1;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      set_level(middle);
      if (fits())
        high = middle;
      else
        low = middle + 1;
    }
    set_level(low);
  }

  // What the score would be if the outline shrank or grew to the fabric: cost goes with the reciprocal of the
  // area. Wires are left out once the cost alone is more than `most`.
  double proxy(double most = std::numeric_limits<double>::infinity()) {
    const Fit fit = best_fit(tree_.root_curve(), p_.width, p_.height);
    fits_ = fit.factor <= 1;
    // Below the cheapest level there is nothing to win by a smaller outline.
    const double factor = level_ == 0 ? std::max(1.0, fit.factor) : fit.factor;
    double cost = p_.cost_weight * levels_.cost[level_] * factor * factor;
    if (!fits_ && level_ + 1 == levels_.cost.size())
      cost += kOverflow * p_.cost_weight * levels_.cost[level_] * (fit.factor * fit.factor - 1);
    if (cost > most || !std::isfinite(cost)) return cost;
    tree_.place(fit.outline, rects_);
    return cost + p_.length_weight * length_of(p_, rects_) / std::max(1.0, fit.factor);
  }

  // Keeps the layout if it is the best so far, at the cheapest level that it reaches. Returns its proxy
  // there.
  double note_best() {
    double now = 0;
    while (true) {
      now = proxy();
      const double score = p_.cost_weight * levels_.cost[level_] + p_.length_weight * length_of(p_, rects_);
      if (score < best_score_) {
        best_score_ = score;
        best_ = rects_;
      }
      if (level_ == 0) return now;
      set_level(level_ - 1);
      if (fits()) continue;
      set_level(level_ + 1);
      return now;
    }
  }

  const FloorplanProblem& p_;
  const Levels& levels_;
  SlicingTree tree_;
  Rng rng_;
  size_t level_ = 0;
  bool fits_ = false;
  std::vector<const ShapeCurve*> leaves_;
  std::vector<Rect> rects_, best_;
  double best_score_ = std::numeric_limits<double>::infinity();
};

// How many kernels stand in each row, if all rows but the last have the same number.
std::vector<int> equal_rows(int kernels, int rows) {
  const int per_row = std::max(1, (kernels + rows - 1) / rows);
  std::vector<int> out(size_t(kernels / per_row), per_row);
  if (kernels % per_row != 0) out.push_back(kernels % per_row);
  return out;
}

// Rows as full as they become without being wider than `width`, each kernel in its squarest rectangle.
std::vector<int> filled_rows(const FloorplanProblem& p, const Levels& levels, int width) {
  std::vector<int> out;
  int used = width + 1;
  for (const int kind : p.kernels) {
    int w = width;
    for (const Outline& o : levels.curve(kind, levels.cost.size() - 1))
      if (o.w <= o.h || w == width) w = o.w;
    if (used + w > width) {
      out.push_back(0);
      used = 0;
    }
    ++out.back();
    used += w;
  }
  return out;
}

// By halves, at the cheapest level at which they have room.
std::optional<Arrangement> halves(const FloorplanProblem& p, const Levels& levels) {
  std::optional<Arrangement> best;
  size_t low = 0, high = levels.cost.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    std::vector<const ShapeCurve*> kernels;
    for (const int kind : p.kernels) kernels.push_back(&levels.curve(kind, middle));
    auto made = arrange_halves(kernels, {int16_t(p.width), int16_t(p.height)});
    (made ? high : low) = made ? middle : middle + 1;
    if (made) best = std::move(made);
  }
  return best;
}

// With the first of these arrangements that has room: with few moves nothing becomes smaller.
void add_start(const FloorplanProblem& p, const Levels& levels, const std::vector<std::vector<int>>& wired,
               const FloorplanOptions& o, int number, std::deque<Annealer>& starts) {
  constexpr int64_t kFewMoves = 100;  // for each kernel
  const Outline limit = levels.limit();
  const int n = int(p.kernels.size()), rows = std::max(1, int(std::lround(std::sqrt(n / 4.0)))) + number % 3;
  const bool must_fit = o.moves < kFewMoves * n;
  const uint64_t seed = o.seed * 1000003 + uint64_t(number);
  const auto begins = [&](const Arrangement& a) {
    if (starts.emplace_back(p, levels, wired, a, limit, seed).starts_well(must_fit)) return true;
    starts.pop_back();
    return false;
  };
  const auto halved = must_fit && number % 2 == 0 ? halves(p, levels) : std::nullopt;
  if (halved && begins(*halved)) return;
  if (begins(arrange_rows(equal_rows(n, rows)))) return;
  const Arrangement filled = arrange_rows(filled_rows(p, levels, p.width * (8 - number % 4) / 8));
  if (must_fit && begins(filled)) return;
  starts.emplace_back(p, levels, wired, filled, limit, seed);
}

// The cheapest alternative of a kernel that has this rectangle.
PlacedKernel choose(const std::vector<Alternative>& kind, const Rect& r, bool may_turn) {
  PlacedKernel best{r, -1, false};
  for (size_t i = 0; i < kind.size(); ++i) {
    const Alternative& a = kind[i];
    const bool straight = a.w == r.w && a.h == r.h, turned = may_turn && a.h == r.w && a.w == r.h;
    if ((straight || turned) && (best.alternative < 0 || a.cost < kind[size_t(best.alternative)].cost))
      best = {r, int(i), !straight};
  }
  return best;
}

// At the best place that a start found.
std::optional<std::vector<Rect>> best_rects(const FloorplanProblem& p, const FloorplanOptions& o) {
  const auto bound = area_bound(p);
  if (!bound || p.kernels.empty()) return std::nullopt;
  const Outline limit{int16_t(p.width + p.width / 3), int16_t(p.height + p.height / 3)};
  const Levels levels(p, cost_levels(p, *bound, o.max_cost), limit);
  if (levels.cost.empty()) return std::nullopt;
  std::vector<std::vector<int>> wired(p.kernels.size());
  for (const Wire& w : p.wires) {
    if (w.from == kEdge || w.to == kEdge) continue;
    wired[size_t(w.from)].push_back(w.to);
    wired[size_t(w.to)].push_back(w.from);
  }
  std::deque<Annealer> starts;
  for (int s = 0; s < o.starts; ++s) add_start(p, levels, wired, o, s, starts);
  progress::round("map");
  std::atomic<size_t> made = 0;
  const size_t all = starts.size() * size_t(o.moves);
  Workers(o.threads).for_each(starts.size(), [&](size_t i) {
    starts[i].run(o.moves, [&](size_t moves) { progress::part("map", made += moves, all); });
  });
  const auto best = std::min_element(starts.begin(), starts.end(), [](const Annealer& a, const Annealer& b) {
    return a.best_score() < b.best_score();
  });
  if (!std::isfinite(best->best_score())) return std::nullopt;
  return best->best();
}

}  // namespace

double wire_length(const FloorplanProblem& p, const std::vector<Rect>& r) { return length_of(p, r); }

std::optional<double> area_bound(const FloorplanProblem& p) {
  // Sweep over all alternatives by cost; the sum of the smallest areas only falls.
  struct Entry {
    double cost;
    int kind;
    int64_t area;
  };
  std::vector<Entry> entries;
  for (size_t k = 0; k < p.kinds.size(); ++k)
    for (const Alternative& a : p.kinds[k])
      if (fits_fabric(a, p)) entries.push_back({a.cost, int(k), int64_t(a.w) * a.h});
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.cost < b.cost; });
  std::vector<int64_t> least(p.kinds.size(), -1), count(p.kinds.size(), 0);
  for (const int k : p.kernels) ++count[size_t(k)];
  int64_t sum = 0, without = int64_t(p.kernels.size());
  for (const Entry& e : entries) {
    int64_t& own = least[size_t(e.kind)];
    if (own >= 0 && e.area >= own) continue;
    sum += count[size_t(e.kind)] * (e.area - std::max<int64_t>(own, 0));
    if (own < 0) without -= count[size_t(e.kind)];
    own = e.area;
    if (without == 0 && sum <= int64_t(p.width) * p.height) return e.cost;
  }
  return std::nullopt;
}

std::optional<Floorplan> place_kernels(const FloorplanProblem& p, const FloorplanOptions& o) {
  const auto search = [&] { return best_rects(p, o); };
  const auto rects = o.known != nullptr ? o.known->rects(p, o, search) : search();
  if (!rects) return std::nullopt;
  Floorplan plan;
  for (size_t i = 0; i < p.kernels.size(); ++i) {
    const auto& kind = p.kinds[size_t(p.kernels[i])];
    plan.kernels.push_back(choose(kind, (*rects)[i], p.may_turn));
    plan.cost = std::max(plan.cost, kind[size_t(plan.kernels.back().alternative)].cost);
  }
  plan.length = length_of(p, *rects);
  plan.score = p.cost_weight * plan.cost + p.length_weight * plan.length;
  return plan;
}

std::string check_floorplan(const FloorplanProblem& p, const Floorplan& plan) {
  if (plan.kernels.size() != p.kernels.size()) return "not every kernel has a place";
  for (size_t i = 0; i < plan.kernels.size(); ++i) {
    const PlacedKernel& k = plan.kernels[i];
    const Alternative& a = p.kinds[size_t(p.kernels[i])].at(size_t(k.alternative));
    if (k.rect.w != (k.turned ? a.h : a.w) || k.rect.h != (k.turned ? a.w : a.h))
      return fmt::format("kernel {} has a rectangle that is not its own", i);
    if (k.rect.x < 0 || k.rect.y < 0 || k.rect.x + k.rect.w > p.width || k.rect.y + k.rect.h > p.height)
      return fmt::format("kernel {} leaves the fabric", i);
    for (size_t j = 0; j < i; ++j)
      if (k.rect.intersects(plan.kernels[j].rect)) return fmt::format("kernels {} and {} overlap", j, i);
  }
  return "";
}

}  // namespace cs::mapping

// Where the kinds of kernels come again in the same order, and one of these parts instead of all.
#include "compiler/mapping/repeats.h"

#include <algorithm>

namespace cs::mapping {

namespace {

constexpr size_t kLeast = 8;  // kernels of a unit: fewer are placed as well one by one

// The longest stretch in which kernels are of the kind of those `length` before them; its first kernel and how many
// kernels it has with the first unit.
std::pair<size_t, size_t> stretch(const std::vector<int>& kinds, size_t length) {
  std::pair<size_t, size_t> best{0, 0};
  for (size_t i = length, begin = length; i <= kinds.size(); ++i) {
    if (i < kinds.size() && kinds[i] == kinds[i - length]) continue;
    if (i > begin && i - begin + length > best.second) best = {begin - length, i - begin + length};
    begin = i + 1;
  }
  return best;
}

// Wires with one end in a unit and one outside of it.
size_t crossing(const FloorplanProblem& p, const Repeats& r) {
  const auto unit = [&](int end) {
    return end == kEdge || !r.contains(size_t(end)) ? -1 : int(r.unit_of(size_t(end)));
  };
  return size_t(std::ranges::count_if(p.wires, [&](const Wire& w) { return unit(w.from) != unit(w.to); }));
}

}  // namespace

std::optional<Repeats> find_repeats(const FloorplanProblem& p) {
  const size_t n = p.kernels.size();
  Repeats best;
  size_t spare = 0;  // kernels of the stretch beyond the units
  for (size_t length = kLeast; 2 * length <= n; ++length) {
    const auto [first, all] = stretch(p.kernels, length);
    const size_t count = all / length;
    // Of units that hold about as many kernels the smallest are taken: a multiple of a layer repeats, too.
    if (count < 2 || count * length <= best.count * best.length + best.length) continue;
    best = {first, length, count};
    spare = all - count * length;
  }
  if (2 * best.count * best.length <= n) return std::nullopt;
  Repeats cut = best;
  size_t fewest = crossing(p, best);
  for (size_t shift = 1; shift <= spare; ++shift) {
    const Repeats there{best.first + shift, best.length, best.count};
    if (const size_t wires = crossing(p, there); wires < fewest) fewest = wires, cut = there;
  }
  return cut;
}

FloorplanProblem unit_problem(const FloorplanProblem& p, const Repeats& r) {
  FloorplanProblem unit = p;
  const size_t from = r.first, to = r.first + r.length;
  unit.kernels.assign(p.kernels.begin() + std::ptrdiff_t(from), p.kernels.begin() + std::ptrdiff_t(to));
  unit.wires.clear();
  const auto inside = [&](int end) { return end != kEdge && size_t(end) >= from && size_t(end) < to; };
  for (const Wire& w : p.wires)
    if (inside(w.from) && inside(w.to))
      unit.wires.push_back({w.from - int(from), w.to - int(from), w.weight});
  return unit;
}

UnitPlan unit_plan(const Floorplan& plan) {
  UnitPlan unit{{}, plan.kernels, plan.cost};
  for (const PlacedKernel& k : plan.kernels) {
    unit.outline.w = std::max(unit.outline.w, int16_t(k.rect.x + k.rect.w));
    unit.outline.h = std::max(unit.outline.h, int16_t(k.rect.y + k.rect.h));
  }
  return unit;
}

FloorplanProblem problem_of_units(const FloorplanProblem& p, const Repeats& r, const std::vector<UnitPlan>& units) {
  FloorplanProblem outer = p;
  std::vector<Alternative>& kind = outer.kinds.emplace_back();
  for (const UnitPlan& u : units) kind.push_back({u.outline.w, u.outline.h, u.cost});
  outer.kernels.clear();
  std::vector<int> at(p.kernels.size(), 0);
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    const bool follows = r.contains(k) && (k - r.first) % r.length != 0;
    if (!follows) outer.kernels.push_back(r.contains(k) ? int(outer.kinds.size()) - 1 : p.kernels[k]);
    at[k] = int(outer.kernels.size()) - 1;
  }
  outer.wires.clear();
  const auto end = [&](int kernel) { return kernel == kEdge ? kEdge : at[size_t(kernel)]; };
  for (const Wire& w : p.wires)
    if (end(w.from) != end(w.to)) outer.wires.push_back({end(w.from), end(w.to), w.weight});
  return outer;
}

Floorplan with_kernels(const Floorplan& of_units, const FloorplanProblem& p, const Repeats& r,
                       const std::vector<UnitPlan>& units) {
  Floorplan plan = of_units;
  plan.kernels.clear();
  for (size_t k = 0; k < of_units.kernels.size(); ++k) {
    const PlacedKernel& at = of_units.kernels[k];
    if (k < r.first || k >= r.first + r.count) {
      plan.kernels.push_back(at);
      continue;
    }
    for (PlacedKernel inner : units[size_t(at.alternative)].kernels) {
      inner.rect.x += at.rect.x, inner.rect.y += at.rect.y;
      plan.kernels.push_back(inner);
    }
  }
  std::vector<Rect> rects;
  for (const PlacedKernel& k : plan.kernels) rects.push_back(k.rect);
  plan.length = wire_length(p, rects);
  return plan;
}

}  // namespace cs::mapping

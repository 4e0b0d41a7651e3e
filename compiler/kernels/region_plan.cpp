// Planning of regions: which axes of the first result are cut, and how often.
//
// One axis over a row of PEs is what costs least room and passes all words of a stream through all PEs. Where
// that takes more PEs than a row should have, up to three axes are cut, one halving after the other: of all
// the axes the one that brings the busiest PE's bytes below its memory, then its cycles down. Then they are
// laid over rows and columns so that the words of the streams pass as few PEs as possible.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/kernels/region_parts.h"
#include "compiler/kernels/region_traffic.h"

namespace cs::kernels {

namespace {

using autogen::AxisCut;
using autogen::Region;
using autogen::RegionCut;
using autogen::ShardAxis;

constexpr int kLongRow = 64;  // PEs that every word of a stream may pass
constexpr size_t kMaxAxes = 3;
constexpr size_t kFolds = 6;  // of an axis that are looked at

bool fits(const RegionPlan& p, const Machine& machine) {
  return p.plan.memory.total > 0 && p.plan.memory.total <= uint32_t(machine.core.memory_bytes);
}

// By so much is `a` better: bytes until it fits, of equal ones cycles, then cycles.
double gain(const RegionPlan& a, const RegionPlan& b, const Costing& by) {
  if (fits(a, by.machine) != fits(b, by.machine)) return fits(a, by.machine) ? 1e9 : 0;
  if (fits(a, by.machine) || a.plan.memory.total == b.plan.memory.total)
    return b.plan.interval_cycles / a.plan.interval_cycles;
  return double(b.plan.memory.total) / double(a.plan.memory.total);
}
bool better(const RegionPlan& a, const std::optional<RegionPlan>& b, const Costing& by) {
  return !b || gain(a, *b, by) > 1;
}

// ---- which axes, how often

// So many rounds each, as few parts as that takes; none is empty.
AxisCut chunks_of(const ShardAxis& axis, int64_t parts) {
  int64_t chunk = (axis.extent + parts - 1) / parts;
  return {axis, int((axis.extent + chunk - 1) / chunk), chunk, false};
}

bool nested(const ShardAxis& a, const ShardAxis& b) {
  return a.stride % b.period() == 0 || b.stride % a.period() == 0;
}

// The cut with this axis cut into about twice as many parts; false if it cannot be.
bool halve(const RegionCut& cut, const ShardAxis& axis, RegionCut& next) {
  next = cut;
  for (AxisCut& a : next.axes) {
    if (a.axis != axis) continue;
    if (a.chunk == 1) return false;
    a = chunks_of(axis, (axis.extent + (a.chunk + 1) / 2 - 1) / ((a.chunk + 1) / 2));
    return true;
  }
  if (next.axes.size() == kMaxAxes || axis.extent < 2) return false;
  for (const AxisCut& a : next.axes) {
    if (!nested(a.axis, axis)) return false;
  }
  next.axes.push_back(chunks_of(axis, 2));
  std::sort(next.axes.begin(), next.axes.end(),
            [](const AxisCut& a, const AxisCut& b) { return a.axis.stride > b.axis.stride; });
  return true;
}

// ---- rows and columns

struct Fold {
  AxisCut outer, inner;
};
// Ways to lay one axis over rows and columns with nobody idle, the squarest first. Chunks may be a little
// smaller.
std::vector<Fold> folds(const AxisCut& a) {
  std::vector<std::pair<double, Fold>> list;
  for (int64_t chunk = a.chunk; chunk > 0 && chunk * 4 >= a.chunk * 3; --chunk) {
    int64_t parts = (a.axis.extent + chunk - 1) / chunk;
    for (int64_t w = 2; w < parts && w < 1024; ++w) {
      AxisCut inner{a.axis, int(w), chunk, false};
      AxisCut outer{a.axis, int((parts + w - 1) / w), chunk * w, true};
      if (outer.chunk * (outer.parts - 1) + inner.chunk * (w - 1) >= a.axis.extent) continue;
      list.push_back({std::abs(std::log(double(w) / outer.parts)), {outer, inner}});
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Fold> best;
  for (size_t k = 0; k < list.size() && k < kFolds; ++k) best.push_back(list[k].second);
  return best;
}

// All ways to give each axis to rows or columns; one axis may also be folded over both.
std::vector<RegionCut> arrangements(const RegionCut& cut) {
  std::vector<RegionCut> list = {{}};
  for (const AxisCut& a : cut.axes) {
    std::vector<RegionCut> next;
    for (const RegionCut& c : list) {
      auto with = [&](std::initializer_list<AxisCut> more) {
        next.push_back(c);
        next.back().axes.insert(next.back().axes.end(), more);
      };
      AxisCut south = a, east = a;
      south.south = true;
      with({south});
      with({east});
      for (const Fold& f : folds(a)) with({f.outer, f.inner});
    }
    list = std::move(next);
  }
  return list;
}

bool turns_work(const Region& r, const RegionCut& cut) {
  autogen::Turns t;
  for (int b : r.result_buffer) {
    if (!turns_of(r.elements(b), cut, false, 0, 0, t) || !turns_of(r.elements(b), cut, true, 0, 0, t))
      return false;
  }
  return true;
}

// Words times PEs that see them: every word passes its column of feeders, a row's words all PEs of the row.
double deliveries_to_rows(const Region& r, const RegionCut& cut) {
  double all = 0;
  for (size_t i = 0; i < r.operands.size(); ++i) all += r.words_a_round(i) * cut.h();
  return all;
}
double deliveries(const Region& r, const RegionCut& cut, const RowStreams& row) {
  return words_of(r, row) * cut.h() * cut.w() + deliveries_to_rows(r, cut);
}

// The rectangles with the fewest deliveries: of all, and of those in which no feeder stops; the faster one.
std::optional<RegionPlan> arrange(const Region& r, const Extent& limit, const RegionCut& cut,
                                  const Costing& by) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double fewest = kNone, fewest_smooth = kNone;
  std::optional<RegionCut> any, smooth;
  const int beside = int(r.operands.size()) + 1;  // columns of feeders and of collectors
  for (RegionCut& c : arrangements(cut)) {
    if (c.w() > limit.width - beside || c.h() > limit.height || c.h() == 1 || !turns_work(r, c)) continue;
    if (deliveries_to_rows(r, c) >= fewest_smooth) continue;  // no better than either
    c.fine = cut.fine;
    if (deliveries(r, c, row_hulls(r, c)) >= fewest_smooth) continue;
    const RowStreams row = row_streams(r, c);
    const double d = deliveries(r, c, row);
    if (d < fewest) fewest = d, any = c;
    if (d < fewest_smooth && !feeders_stop(r, c, row)) fewest_smooth = d, smooth = c;
  }
  std::optional<RegionPlan> best;
  for (const std::optional<RegionCut>& c : {any, smooth == any ? std::nullopt : smooth}) {
    if (!c) continue;
    RegionPlan p = plan_cut(r, *c, by.statements, Look::few);
    if (better(p, best, by)) best = std::move(p);
  }
  return best;
}

std::vector<ShardAxis> axes_of(const Region& r) {
  return autogen::shard_axes(r.program.buffers[size_t(r.result_buffer[0])].type.shape);
}

// The best axis for a row of so many PEs.
std::optional<RegionPlan> best_row(const Region& r, int w, const Costing& by) {
  std::optional<RegionPlan> best;
  for (const ShardAxis& axis : axes_of(r)) {
    AxisCut a = chunks_of(axis, w);
    if (a.parts != w) continue;
    RegionPlan p = plan_cut(r, w == 1 ? RegionCut{} : RegionCut{{a}}, by.statements, Look::few);
    if (better(p, best, by)) best = p;
    if (w == 1) break;
  }
  return best;
}

// One axis halved after the other until nothing gets better. What a row of PEs can hold is a rectangle too if
// the links of a row hold it up.
void add_rectangles(const Region& r, const Extent& limit, const Costing& by, bool fine,
                    std::vector<RegionPlan>& list) {
  constexpr double kHeldUp = 1.05;
  RegionPlan now = plan_unlaid(r, {{}, fine}, by.statements);
  std::vector<ShardAxis> axes = axes_of(r);
  while (true) {
    std::optional<RegionPlan> best;
    for (const ShardAxis& axis : axes) {
      RegionCut next;
      if (!halve(now.cut, axis, next)) continue;
      int64_t pes = 1;
      for (const AxisCut& a : next.axes) pes *= a.parts;
      if (pes > int64_t(limit.width) * limit.height) continue;
      RegionPlan p = plan_unlaid(r, next, by.statements);
      if (better(p, best, by)) best = p;
    }
    if (!best || gain(*best, now, by) < 1.02) return;
    now = *best;
    std::optional<RegionPlan> row;
    if (now.plan.cut.w <= kLongRow && turns_work(r, now.cut))
      row = plan_cut(r, now.cut, by.statements, Look::few);
    if (row && (now.cut.axes.size() > 1 || fine)) list.push_back(*row);
    if (row && row->plan.interval_cycles < now.plan.interval_cycles * kHeldUp) continue;
    if (std::optional<RegionPlan> laid = arrange(r, limit, now.cut, by)) list.push_back(*laid);
  }
}

// A PE takes every operand, a collector every result, which takes a queue in and a queue out, a color for
// both, and up to two tasks, whose ids must not be those of the colors.
bool streams_suffice(const Region& r, const Machine& machine) {
  constexpr int kIdsPerStream = 4, kLastTask = 28;
  const int streams = int(std::max(r.operands.size(), r.results.size()));
  const size_t queues = std::min(machine.queues.input_words.size(), machine.queues.output_words.size());
  const int ids = std::min(kLastTask, machine.task_ids.local_last) - machine.task_ids.local_first + 1;
  return streams <= int(queues) && kIdsPerStream * streams <= ids;
}

// Rectangles, and if nothing fits those that leave out small gaps too.
void add_larger(const Region& r, const Extent& limit, const Costing& by, std::vector<RegionPlan>& list) {
  for (bool fine : {false, true}) {
    if (streams_suffice(r, by.machine)) add_rectangles(r, limit, by, fine, list);
    if (std::any_of(list.begin(), list.end(), [&](const RegionPlan& p) { return fits(p, by.machine); }))
      return;
  }
}

// Plans that look better than all smaller ones do it again with more of their PEs looked at.
void look_again(const Region& r, const Costing& by, std::vector<RegionPlan>& list) {
  std::vector<RegionPlan*> order;
  for (RegionPlan& p : list) order.push_back(&p);
  const auto pes = [](const RegionPlan& p) { return int64_t(p.plan.cut.w) * p.plan.cut.h; };
  std::stable_sort(order.begin(), order.end(), [&](auto* a, auto* b) { return pes(*a) < pes(*b); });
  std::optional<RegionPlan> best;
  for (RegionPlan* p : order) {
    if (!better(*p, best, by)) continue;
    *p = plan_cut(r, p->cut, by.statements, Look::many);
    if (better(*p, best, by)) best = *p;
  }
}

// The same of the best plan, until the best one has been looked at.
void look_at_best(const Region& r, const Costing& by, std::vector<RegionPlan>& list) {
  std::vector<bool> looked(list.size(), false);
  const auto best = [&] {
    size_t k = 0;
    for (size_t i = 1; i < list.size(); ++i)
      if (gain(list[i], list[k], by) > 1) k = i;
    return k;
  };
  for (size_t k; !list.empty() && !looked[k = best()]; looked[k] = true)
    list[k] = plan_cut(r, list[k].cut, by.statements, Look::many);
}

// Cuts that give exactly this rectangle. Of equal ones that with the inner axis over its rows: a convolution
// on 32 x 32 PEs takes 198,000 cycles so and 256,000 the other way round, which estimates do not know.
void add_forced(const Region& r, int w, int h, const Costing& by, std::vector<RegionPlan>& list) {
  std::optional<RegionPlan> best;
  const std::vector<ShardAxis> axes = axes_of(r);
  auto consider = [&](const RegionCut& cut) {
    if (cut.w() != w || cut.h() != h || !turns_work(r, cut)) return;
    RegionPlan p = plan_cut(r, cut, by.statements, Look::few);
    if (better(p, best, by)) best = p;
  };
  for (auto rows = axes.rbegin(); rows != axes.rend(); ++rows) {
    for (const ShardAxis& b : axes) {
      const ShardAxis& a = *rows;
      if (a == b) {
        int64_t chunk = (a.extent + int64_t(w) * h - 1) / (int64_t(w) * h);
        if (chunk * (int64_t(w) * h - 1) < a.extent)
          consider({{{a, h, chunk * w, true}, {a, w, chunk, false}}});
      } else if (nested(a, b)) {
        RegionCut cut{{chunks_of(a, h), chunks_of(b, w)}};
        cut.axes[0].south = true;
        std::sort(cut.axes.begin(), cut.axes.end(),
                  [](const AxisCut& x, const AxisCut& y) { return x.axis.stride > y.axis.stride; });
        consider(cut);
      }
    }
  }
  if (best) list.push_back(*best);
}

// What sizing would take for this rectangle, where that is clearly better than the plans that only the
// rectangle asks for: a kernel alone is cut as in its network.
void add_sized(const Region& r, const Extent& limit, const Extent& forced, const Costing& by,
               std::vector<RegionPlan>& list) {
  constexpr double kClearly = 1.05;
  std::vector<RegionPlan> sized;
  add_larger(r, limit, by, sized);
  for (const RegionPlan& p : sized) {
    const bool here = p.plan.cut.w == forced.width && p.plan.cut.h == std::max(1, forced.height);
    if (here &&
        std::all_of(list.begin(), list.end(), [&](const RegionPlan& q) { return gain(p, q, by) > kClearly; }))
      list.push_back(p);
  }
}

// With their cuts, of samples that are so many rounds.
std::vector<Plan> of_rounds(const std::vector<RegionPlan>& list, int64_t rounds) {
  std::vector<Plan> plans;
  for (const RegionPlan& p : list) {
    Plan& plan = plans.emplace_back(p.plan);
    plan.cut.loops = std::make_shared<const RegionCut>(p.cut);
    plan.latency_cycles += plan.interval_cycles * double(rounds - 1);
    plan.interval_cycles *= double(rounds);
  }
  return plans;
}

}  // namespace

std::vector<Plan> region_plans(const Region& r, int64_t rounds, const Extent& limit, const Extent& forced,
                               const Costing& by) {
  std::vector<RegionPlan> list;
  if (forced.height > 1) {
    if (streams_suffice(r, by.machine)) add_forced(r, forced.width, forced.height, by, list);
  } else {
    std::vector<int> widths;
    for (const ShardAxis& axis : axes_of(r)) {
      std::vector<int> more = extents(axis.extent, std::min(limit.width, kLongRow));
      widths.insert(widths.end(), more.begin(), more.end());
    }
    std::sort(widths.begin(), widths.end());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    if (forced.width > 0) widths = {forced.width};
    for (int w : widths) {
      if (std::optional<RegionPlan> p = best_row(r, w, by)) list.push_back(*p);
    }
  }
  if (forced.width > 0) {
    add_sized(r, limit, forced, by, list);
  } else {
    add_larger(r, limit, by, list);
  }
  look_again(r, by, list);
  return of_rounds(list, rounds);
}

RegionCosts region_costs(const Region& whole, const Costing& by, double enough) {
  Region r = whole;
  int64_t rounds = autogen::slice_region(r);
  std::vector<RegionPlan> list;
  for (int w : {1, 2, 4, 8, 16, 32, 64}) {
    if (std::optional<RegionPlan> p = best_row(r, w, by)) list.push_back(*p);
  }
  look_at_best(r, by, list);
  RegionCosts costs{least_cost(of_rounds(list, rounds), by.machine), {}};
  if (costs.row.interval_cycles <= enough) return costs;
  add_larger(r, {by.machine.fabric.user_width, by.machine.fabric.user_height}, by, list);
  look_at_best(r, by, list);
  costs.any = least_cost(of_rounds(list, rounds), by.machine);
  return costs;
}

}  // namespace cs::kernels

// Placing: the placer of floorplan.h gives every instance one of its rectangles and a place.
//
// A block is a kernel's rectangle with its feeders to the west of it and its relays to the east. What a
// rectangle costs is its estimated interval, so the placer balances the slowest stage against the fabric:
//
//   1. the goal is the best interval of the slowest instance, or 2 % more if that saves PEs
//   2. where the smallest rectangles that reach the goal have room, they are packed into a box little larger
//      than they are together: streams stay short and the fabric that has to be simulated stays compact
//      (of hundreds of kernels, those that repeat, as layers do, are placed once and stand alike: repeats.h)
//   3. otherwise the placer looks for the smallest interval at which everything fits the fabric
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "compiler/mapping/floorplan.h"
#include "compiler/mapping/known_plans.h"
#include "compiler/mapping/repeats.h"

namespace cs::mapping {

namespace {

constexpr double kGoalSlack = 1.02;
// The first box has this many times the area of the rectangles, each further attempt so much more.
constexpr double kFirstRoom = 1.1, kMoreRoom = 1.2;
// On the whole fabric: gaps to the bound that are tried, each twice the one before.
constexpr double kFirstGap = 0.025, kMostGap = 2;
constexpr int64_t kMovesPerKernel = 3000, kMostMoves = 300'000;
// A move takes time in proportion to the kernels, so beyond so many there are fewer moves; of thousands of
// kernels the first arrangement decides, which goes to and fro along the kernels: then each stands behind what it
// takes from.
constexpr double kManyKernels = 200;
constexpr int64_t kMostWork = 12'000'000;  // moves times kernels, of a start
// What the wires weigh against the interval where both could be better.
constexpr double kWireShare = 0.2;
constexpr double kOneSize = 16;  // largest to smallest kernel
// Width to height of the boxes in which parts that repeat are placed.
constexpr double kUnitShapes[] = {1, 0.6, 1.7};
constexpr double kLongest = 4;          // width to height, or height to width, of those that fill the fabric's width
constexpr double kMoreInUnit = 1.045;   // from one box for a unit to the next: there are four up to kMoreRoom

// How many kernels a sample passes before each instance, on the longest way: a stream that skips some of them
// is early, so its length matters less.
std::vector<int> depths(const Parts& parts) {
  std::vector<int> depth(parts.instances.size(), 0);
  bool changed = true;
  for (size_t round = 0; changed && round < depth.size();
       ++round) {  // streams in a circle are reported later
    changed = false;
    for (const Stream& s : parts.streams) {
      for (const Taker& t : s.takers) {
        if (s.producer < 0 || s.initial || t.instance < 0 ||
            depth[size_t(t.instance)] > depth[size_t(s.producer)])
          continue;
        depth[size_t(t.instance)] = depth[size_t(s.producer)] + 1;
        changed = true;
      }
    }
  }
  return depth;
}

// Every instance behind all that it takes from, and as soon behind them as possible: depth first, from the last one
// of every way.
std::vector<int> behind_operands(const Parts& parts) {
  std::vector<std::vector<int>> from(parts.instances.size());
  std::vector<bool> taken(parts.instances.size(), false), met(parts.instances.size(), false);
  for (const Stream& s : parts.streams) {
    for (const Taker& t : s.takers) {
      if (s.producer < 0 || s.initial || t.instance < 0) continue;
      from[size_t(t.instance)].push_back(s.producer);
      taken[size_t(s.producer)] = true;
    }
  }
  std::vector<int> order;
  std::vector<std::pair<int, size_t>> open;  // instance, which of its operands is next
  const auto visit = [&](int last) {
    if (met[size_t(last)]) return;
    met[size_t(last)] = true;
    open.emplace_back(last, 0);
    while (!open.empty()) {
      auto& [i, next] = open.back();
      if (next == from[size_t(i)].size()) {
        order.push_back(i);
        open.pop_back();
        continue;
      }
      const int operand = from[size_t(i)][next++];
      if (met[size_t(operand)]) continue;
      met[size_t(operand)] = true;
      open.emplace_back(operand, 0);
    }
  };
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) visit(int(i));
  for (size_t i = 0; i < taken.size(); ++i) visit(int(i));  // streams in a circle are reported later
  return order;
}

class Placer {
 public:
  Placer(const Parts& parts, const PlanLists& plans, const Extent& limit)
      : plans_(plans), limit_(limit), goal_(least_interval(plans) * kGoalSlack) {
    std::vector<int> relays(parts.instances.size(), 0);
    for (const Stream& s : parts.streams) {
      if (s.producer >= 0 && !s.port_out.empty()) ++relays[size_t(s.producer)];
    }
    std::map<std::pair<const void*, int>, int> known;  // by plans and relays
    for (size_t i = 0; i < parts.instances.size(); ++i) {
      const auto [kind, is_new] = known.try_emplace({plans[i].id(), relays[i]}, int(problem_.kinds.size()));
      kind_of_.push_back(kind->second);
      if (is_new) problem_.kinds.push_back(alternatives(parts.instances[i], plans[i], relays[i]));
    }
    if (double(parts.instances.size()) > kManyKernels) {
      order_ = behind_operands(parts);
    } else {
      for (size_t i = 0; i < parts.instances.size(); ++i) order_.push_back(int(i));
    }
    std::vector<int> at(parts.instances.size(), 0);
    for (size_t k = 0; k < at.size(); ++k) {
      at[size_t(order_[k])] = int(k);
      problem_.kernels.push_back(kind_of_[size_t(order_[k])]);
    }
    const auto end_of = [&](int instance) { return instance < 0 ? kEdge : at[size_t(instance)]; };
    // What is faster than the goal is worth no more than the goal: fewer PEs decide.
    for (auto& kind : problem_.kinds)
      for (Alternative& a : kind) a.cost = std::max(a.cost, goal_);
    const std::vector<int> depth = depths(parts);
    for (const Stream& s : parts.streams) {
      for (const Taker& t : s.takers) {
        const bool inside = s.producer >= 0 && t.instance >= 0 && !s.initial;
        const int apart = inside ? std::max(1, depth[size_t(t.instance)] - depth[size_t(s.producer)]) : 1;
        problem_.wires.push_back({end_of(s.producer), end_of(t.instance), 1.0 / apart});
      }
    }
    problem_.pins = Pins::corners;
    set_fabric(problem_, limit);
    bound_ = area_bound(problem_);
  }

  // By instance. Nothing if no placement was found in the box of this attempt.
  std::optional<Floorplan> run(int attempt, const MapOptions& map) {
    threads_ = map.threads;
    known_ = map.known_plans ? &map.known_plans->floorplans() : nullptr;
    std::optional<Floorplan> plan = place(attempt);
    if (!plan) return plan;
    const std::vector<PlacedKernel> kernels = plan->kernels;
    for (size_t k = 0; k < kernels.size(); ++k) plan->kernels[size_t(order_[k])] = kernels[k];
    return plan;
  }

  std::optional<Floorplan> place(int attempt) {
    if (!bound_) return std::nullopt;
    if (double(problem_.kernels.size()) > kManyKernels && sizes_differ()) repeats_ = find_repeats(problem_);
    bool whole = *bound_ > goal_;
    Extent box = whole ? limit_ : box_of(kFirstRoom * std::pow(kMoreRoom, attempt));
    int margin = whole ? attempt : 0;  // attempts that had the whole fabric before this one
    for (int a = attempt; !whole && a > 0; --a) {
      const Extent before = box_of(kFirstRoom * std::pow(kMoreRoom, a - 1));
      margin += before.width == limit_.width && before.height == limit_.height ? 1 : 0;
    }
    whole = whole || (box.width == limit_.width && box.height == limit_.height);
    // Rows and columns that are left free at the edges are there for streams.
    const Extent room{std::max(1, box.width - margin), std::max(1, box.height - margin)};
    set_fabric(problem_, room);
    // Kernels that cost no more than the goal; of the whole fabric near the bound first: the fewer levels there are,
    // the better the search is.
    const auto cheapest = [&](const auto& place_up_to) -> std::optional<Floorplan> {
      if (!whole) return place_up_to(goal_);
      for (double gap = kFirstGap; gap < kMostGap; gap *= 2)
        if (auto plan = place_up_to(*bound_ * (1 + gap))) return plan;
      return place_up_to(std::numeric_limits<double>::infinity());
    };
    if (repeats_)
      if (auto plan = cheapest([&](double cost) { return place_units(cost, room, attempt); })) return plan;
    return cheapest([&](double cost) { return place_kernels(problem_, options_for(problem_, cost)); });
  }

  FloorplanOptions options_for(const FloorplanProblem& problem, double cost) const {
    FloorplanOptions options;
    options.threads = threads_;
    options.known = known_;
    const double kernels = double(problem.kernels.size()),
                 share = std::min(1.0, kManyKernels / std::max(1.0, kernels));
    options.moves = std::min({int64_t(double(kMostMoves) * share * share), kMovesPerKernel * int64_t(kernels),
                              kMostWork / int64_t(kernels)});
    options.max_cost = cost;
    return options;
  }

  // A unit in boxes of a few shapes, then units and other kernels as kernels of one problem. Where units have the whole
  // fabric, some boxes are such that they fill its width beside each other.
  std::optional<Floorplan> place_units(double cost, const Extent& room, int attempt) {
    const FloorplanProblem unit = unit_problem(problem_, *repeats_);
    std::vector<UnitPlan> units;
    const auto add = [&](const auto& box_with) {
      if (auto placed = place_unit(unit, cost, attempt, box_with)) units.push_back(std::move(*placed));
    };
    for (const double shape : kUnitShapes)
      add([&](double space) { return box_of(unit.kernels, space, shape, cost); });
    const double area = area_of(unit.kernels, cost);
    for (int columns = 1; room.width == limit_.width && columns <= int(repeats_->count); ++columns) {
      const int width = room.width / columns;
      const double shape = width * width / area;
      if (shape < 1 / kLongest || shape > kLongest) continue;
      add([&](double space) { return Extent{width, std::min(limit_.height, int(std::ceil(space * area / width)))}; });
    }
    if (units.empty()) return std::nullopt;
    FloorplanProblem outer = problem_of_units(problem_, *repeats_, units);
    for (double more = 1;; more *= kMoreRoom) {
      const Extent box{std::min(limit_.width, int(room.width * more)),
                       std::min(limit_.height, int(room.height * more))};
      set_fabric(outer, box);
      if (const auto plan = place_kernels(outer, options_for(outer, cost)))
        return with_kernels(*plan, problem_, *repeats_, units);
      if (box.width == limit_.width && box.height == limit_.height) return std::nullopt;
    }
  }

  // In the smallest of some boxes, with so many times the area of its smallest rectangles.
  std::optional<UnitPlan> place_unit(FloorplanProblem unit, double cost, int attempt,
                                     const std::function<Extent(double)>& box_with) const {
    const double most = kFirstRoom * std::pow(kMoreRoom, attempt + 1);
    for (double space = kFirstRoom * std::pow(kMoreRoom, attempt); space < most; space *= kMoreInUnit) {
      set_fabric(unit, box_with(space));
      if (const auto plan = place_kernels(unit, options_for(unit, cost))) return unit_plan(*plan);
    }
    return std::nullopt;
  }

  // Of the plans for the rectangle that was chosen.
  const SizedPlan& fastest(size_t i, const PlacedKernel& k) const {
    const SizedPlan* best = &plans_[i][size_t(k.alternative)];
    for (const SizedPlan& p : plans_[i]) {
      const bool same = p.plan.cut.w == best->plan.cut.w && p.plan.cut.h == best->plan.cut.h;
      if (same && p.plan.interval_cycles < best->plan.interval_cycles) best = &p;
    }
    return *best;
  }

  PlacementFigures figures(const Floorplan& plan) const {
    PlacementFigures f;
    f.interval_bound = *bound_ > goal_ ? *bound_ : goal_ / kGoalSlack;
    f.wire_length = plan.length;
    const std::vector<int64_t> least = least_areas(plan.cost);
    for (size_t i = 0; i < plan.kernels.size(); ++i) {
      f.interval = std::max(f.interval, fastest(i, plan.kernels[i]).plan.interval_cycles);
      f.area += plan.kernels[i].rect.area();
      f.least_area += least[size_t(kind_of_[i])];
    }
    return f;
  }

  int64_t least_area() const {
    const std::vector<int64_t> least = least_areas(std::numeric_limits<double>::infinity());
    int64_t sum = 0;
    for (const int kind : kind_of_) sum += least[size_t(kind)];
    return sum;
  }

  bool has_area() const { return bound_.has_value(); }

 private:
  void set_fabric(FloorplanProblem& problem, const Extent& box) const {
    problem.width = box.width;
    problem.height = box.height;
    const double typical = double(problem.wires.size()) * (box.width + box.height) / 4;
    problem.cost_weight = 1 / std::max(1.0, goal_);
    problem.length_weight = kWireShare / std::max(1.0, typical);
  }

  static std::vector<Alternative> alternatives(const Instance& inst, const PlanList& plans, int relays) {
    std::vector<Alternative> kind;
    for (const auto& [p, rounds] : plans) {
      const kernels::Footprint f = inst.footprint(p.cut);
      const int east = f.collectors + (f.out.front().turns ? relays : 0);
      kind.push_back({f.feeders + p.cut.w + east, p.cut.h, p.interval_cycles});
    }
    return kind;
  }

  // Kernels of one size lie well in rows.
  bool sizes_differ() const {
    const std::vector<int64_t> least = least_areas(goal_);
    return double(std::ranges::max(least)) > kOneSize * double(std::ranges::min(least));
  }

  // By kind.
  std::vector<int64_t> least_areas(double cost) const {
    std::vector<int64_t> areas;
    for (const auto& kind : problem_.kinds) {
      int64_t& least = areas.emplace_back(std::numeric_limits<int64_t>::max());
      for (const Alternative& a : kind) {
        if (a.cost <= cost) least = std::min(least, int64_t(a.w) * a.h);
      }
    }
    return areas;
  }

  // Of the smallest rectangles of kernels that cost no more than that.
  double area_of(const std::vector<int>& kernels, double cost) const {
    double area = 0;
    const std::vector<int64_t> least = least_areas(cost);
    for (const int kind : kernels) area += double(least[size_t(kind)]);
    return area;
  }
  // About square, with `room` times the area of the smallest rectangles that reach the goal.
  Extent box_of(double room) const { return box_of(problem_.kernels, room, 1, goal_); }
  // Of kernels that cost no more than that, `shape` times as wide as high.
  Extent box_of(const std::vector<int>& kernels, double room, double shape, double cost) const {
    const double area = room * area_of(kernels, cost);
    int widest = 1, highest = 1;  // the least that every rectangle needs
    std::vector<bool> used(problem_.kinds.size(), false);
    for (const int kind : kernels) used[size_t(kind)] = true;
    for (size_t k = 0; k < problem_.kinds.size(); ++k) {
      if (!used[k]) continue;
      const std::vector<Alternative>& kind = problem_.kinds[k];
      int w = limit_.width, h = limit_.height;
      for (const Alternative& a : kind) {
        if (a.cost > cost) continue;
        w = std::min(w, a.w);
        h = std::min(h, a.h);
      }
      widest = std::max(widest, w);
      highest = std::max(highest, h);
    }
    // A wide and a high one do not lie in a box as wide and as high as they are.
    const double side = std::sqrt(area * shape), more = std::sqrt(room / kFirstRoom);
    widest = int(std::ceil(widest * more));
    highest = int(std::ceil(highest * more));
    Extent box;
    box.width = std::min(limit_.width, std::max({widest, int(std::ceil(side)), int(area / limit_.height)}));
    box.height = std::min(limit_.height, std::max(highest, int(std::ceil(area / box.width))));
    for (size_t k = 0; k < used.size(); ++k)
      if (used[k]) make_room(problem_.kinds[k], cost, box);
    return box;
  }

  // The widest of the narrow and the highest of the flat rectangles need not be alternatives of one kernel:
  // some rectangle of each has to fit.
  void make_room(const std::vector<Alternative>& kind, double cost, Extent& box) const {
    Extent best = limit_;
    for (const Alternative& a : kind) {
      const Extent e{std::max(box.width, a.w), std::max(box.height, a.h)};
      if (e.width > limit_.width || e.height > limit_.height) continue;
      if (a.cost <= cost && int64_t(e.width) * e.height < int64_t(best.width) * best.height) best = e;
    }
    box = best;
  }

  const PlanLists& plans_;
  Extent limit_;
  FloorplanProblem problem_;
  std::vector<int> kind_of_;  // by instance
  std::vector<int> order_;    // instances as they are placed at first
  double goal_;
  std::optional<double> bound_;
  std::optional<Repeats> repeats_;  // in the order of order_
  int threads_ = 1;
  KnownFloorplans* known_ = nullptr;
};

}  // namespace

int64_t least_area(const Parts& parts, const PlanLists& plans) {
  return Placer(parts, plans, {1, 1}).least_area();
}

bool has_area(const Parts& parts, const PlanLists& plans, const Extent& limit) {
  return parts.instances.empty() || Placer(parts, plans, limit).has_area();
}

bool place_instances(Parts& parts, const PlanLists& plans, const Extent& limit, int attempt, const MapOptions& map,
                     Extent& used, PlacementFigures& figures) {
  used = {1, 1};
  if (parts.instances.empty()) return true;
  Placer placer(parts, plans, limit);
  const std::optional<Floorplan> plan = placer.run(attempt, map);
  if (!plan) return false;
  figures = placer.figures(*plan);
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    Instance& inst = parts.instances[i];
    const Rect& block = plan->kernels[i].rect;
    const SizedPlan& chosen = placer.fastest(i, plan->kernels[i]);
    inst.plan = chosen.plan;
    inst.work = inst.work.in_rounds(chosen.rounds);
    inst.rect = {block.x + inst.feeders(), block.y, inst.plan.cut.w, inst.plan.cut.h};
    used.width = std::max(used.width, block.x + block.w);
    used.height = std::max(used.height, block.y + block.h);
  }
  return true;
}

}  // namespace cs::mapping

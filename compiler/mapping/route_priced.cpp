// The cheapest branch first: A*, with the steps that are left as the least that they cost. Where that takes long they
// count more, for a way that may cost more.
#include "compiler/mapping/route_priced.h"

#include <algorithm>
#include <queue>

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

namespace {

constexpr Port kPorts4[] = {Port::east, Port::south, Port::west, Port::north};
// What a link costs that would carry twice as much as it had better, in links, in the first round, and how
// much more in each round after it.
constexpr double kSharing = 10, kMoreEachRound = 1.6, kMostSharing = 200;
// The same of a link that is as full as it may be: words of several streams wait for each other there.
constexpr double kUsed = 0.5;
// The same of what it carried too much before.
constexpr float kHistory = 4;
// What a router costs, in links, that half as many flows pass as there are colors.
constexpr float kBusy = 20;

struct Open {
  float all = 0, price = 0;  // with the steps that are left; of the way there
  Coord at;
  bool operator>(const Open& o) const { return all > o.all; }
};

}  // namespace

LinkPrices::LinkPrices(const Extent& fabric, double most_wavelets)
    : fabric_(fabric),
      most_wavelets_(std::max(1.0, most_wavelets)),
      sharing_(kSharing),
      history_(kRouterLinks * size_t(fabric.width) * size_t(fabric.height), 0) {}

double LinkPrices::price(const LinkLoads& loads, Coord from, Port link, double wavelets) const {
  const double others = loads.at(from, link);
  const size_t at = kRouterLinks * (size_t(from.y) * size_t(fabric_.width) + size_t(from.x)) + size_t(link);
  if (others == 0) return 1 + double(history_[at]);
  const double over = std::max(0.0, (others + wavelets) / most_wavelets_ - 1);
  return (1 + double(history_[at])) * (1 + kUsed * others / most_wavelets_ + sharing_ * over);
}

void LinkPrices::raise(const LinkLoads& loads, const std::vector<const Flow*>& crowded) {
  for (const Flow* f : crowded) {
    for (const auto& [key, config] : f->routers) {
      for (const Port link : kPorts4) {
        const Coord from{key.x, key.y};
        if (!fabric_.contains(from) || (config.positions[0].tx & port_bit(link)) == 0) continue;
        const double over = loads.at(from, link) / most_wavelets_ - 1;
        float& before =
            history_[kRouterLinks * (size_t(key.y) * size_t(fabric_.width) + size_t(key.x)) + size_t(link)];
        if (over > 0) before += kHistory * float(std::min(over, 1.0));
      }
    }
  }
  sharing_ = std::min(kMostSharing, sharing_ * kMoreEachRound);
}

PricedSearch::PricedSearch(const Extent& fabric)
    : fabric_(fabric), met_(size_t(fabric.width) * size_t(fabric.height)), leads_(met_.size()) {}

std::optional<Coord> PricedSearch::to_target(const Task& task, const Avoid& calm, const Avoid& full, bool must) {
  if (const auto end = end_where_it_passes(task.flow, inside(task.target, task.last))) return end;
  Found found = search(task, calm);
  if (!found.end && !found.gave_up) found = search(task, full);
  if (found.gave_up) found = search(task, calm, full, kEager, 4 * kPatience);
  if (found.gave_up && must && !is_enclosed(task, full)) found = search(task, calm, full, 2 * kEager, met_.size());
  if (found.end)
    add_branch(task.flow, *found.end, task.last, [&](Coord c) { return met_[index(c)].came_by; });
  return found.end;
}

PricedSearch::Found PricedSearch::search(const Task& t, const Avoid& calm, const Avoid& full, float eager,
                                         size_t patience) {
  constexpr float kOwn = -1;
  ++search_;
  for (const auto& router : t.flow.routers) {
    const Coord c{router.first.x, router.first.y};
    if (fabric_.contains(c)) met_[index(c)] = {search_, kOwn, Port::ramp};
  }
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  const auto enter = [&](Coord from, Port link, float before) {
    const Coord c = neighbour(from, link);
    if (full.blocks(c)) return;
    Met& met = met_[index(c)];
    if (met.search == search_ && met.done) return;
    const float price =
        before + float(t.prices.price(t.loads, from, link, t.wavelets)) + (calm.blocks(c) ? kBusy : 0);
    if (met.search == search_ && met.price <= price) return;
    met = {search_, price, opposite(link)};
    open.push({price + eager * float(steps_to(t.target, c)), price, c});
  };
  for (const auto& [key, config] : t.flow.routers) {
    if (!has_whole_stream(t.flow, key, config)) continue;
    for (const Port link : kPorts4)
      if (may_leave_by(config, link)) enter({key.x, key.y}, link, 0);
  }
  const Goal goal = inside(t.target, t.last);
  for (size_t seen = 0; !open.empty(); ++seen) {
    const Open next = open.top();
    open.pop();
    Met& met = met_[index(next.at)];
    if (met.done || next.price > met.price) continue;  // a cheaper way there was found since
    if (goal(next.at)) return {next.at};
    if (seen > patience) return {{}, true};
    met.done = true;
    for (const Port link : kPorts4) enter(next.at, link, next.price);
  }
  return {};
}

bool PricedSearch::is_enclosed(const Task& t, const Avoid& avoid) {
  std::vector<Coord> list;
  bool reached = false;
  const auto enter = [&](Coord c) {
    if (!fabric_.contains(c)) return;
    reached = reached || (met_[index(c)].search == search_ && met_[index(c)].price < 0);
    if (avoid.blocks(c) || leads_[index(c)] == search_) return;
    leads_[index(c)] = search_;
    list.push_back(c);
  };
  for (int y = t.target.y; y < t.target.bottom(); ++y)
    for (int x = t.target.x; x < t.target.right(); ++x) enter({x, y});
  for (size_t i = 0; i < list.size() && !reached; ++i)
    for (const Port link : kPorts4) enter(neighbour(list[i], link));
  return !reached;
}

}  // namespace cs::mapping

// Paths in dimension order, and what to try in which order.
#include "compiler/mapping/route_paths.h"

#include <algorithm>
#include <limits>

#include "runtime/machine/field_widths.h"

namespace cs::mapping {

namespace {

static_assert(widths::kColors <= 32, "colors are bits of a word");

// Times the wavelets that a link had better carry: where no way has less, two streams share a link before three do.
constexpr double kMore[] = {1, 2, 3};

// Behind `at` on the path in dimension order.
Coord step(Coord at, Coord to, bool x_first) {
  const bool along_x = x_first ? at.x != to.x : at.y == to.y;
  if (along_x) return {at.x + (to.x > at.x ? 1 : -1), at.y};
  return {at.x, at.y + (to.y > at.y ? 1 : -1)};
}

std::vector<Coord> path(Coord from, Coord to, bool x_first) {
  std::vector<Coord> list;
  list.reserve(size_t(std::abs(to.x - from.x)) + size_t(std::abs(to.y - from.y)) + 1);
  list.push_back(from);
  while (list.back() != to) list.push_back(step(list.back(), to, x_first));
  return list;
}

// Extends the flow by a path that leaves it by `last` at its end. False if the path meets the flow from
// aside.
bool extend(Flow& f, const std::vector<Coord>& way, Port last) {
  for (size_t i = 1; i < way.size(); ++i) {
    Port from = opposite(direction(way[i - 1], way[i]));
    auto it = f.routers.find({way[i].y, way[i].x});
    if (it != f.routers.end() && it->second.positions[0].rx != port_bit(from)) return false;
  }
  if (way.size() == 1 && f.routers.at({way[0].y, way[0].x}).positions[0].rx == port_bit(last)) return false;
  for (size_t i = 0; i < way.size(); ++i) {
    Port out = i + 1 < way.size() ? direction(way[i], way[i + 1]) : last;
    RouterKey key{way[i].y, way[i].x};
    if (i > 0 && !f.routers.count(key)) {
      f.routers[key] = fixed_route(port_bit(opposite(direction(way[i - 1], way[i]))), 0);
    }
    add_output(f.routers.at(key), out);
  }
  return true;
}

Coord on_line(const Rect& line, int i) {
  return line.h > 1 ? Coord{line.x, line.y + i} : Coord{line.x + i, line.y};
}

void spread(Flow& f, Coord at, Port to) {
  add_output(f.routers.at({at.y, at.x}), to);
  Coord next = neighbour(at, to);
  f.routers[{next.y, next.x}] = fixed_route(port_bit(opposite(to)), port_bit(Port::ramp));
}

// The flow's routers on the line pass it on to their cores and to those beside them; false if there are
// none.
bool spread_line(Flow& f, const Rect& line) {
  Port on = line.h > 1 ? Port::south : Port::east;
  int end = line.w * line.h, first = 0;
  auto key = [&](int i) { return RouterKey{on_line(line, i).y, on_line(line, i).x}; };
  auto passes = [&](int i) { return f.routers.count(key(i)) > 0; };
  while (first < end && !passes(first)) ++first;
  if (first == end) return false;
  for (int i = 0; i < end; ++i) {
    if (passes(i)) add_output(f.routers.at(key(i)), Port::ramp);
  }
  for (int i = first; i > 0; --i) spread(f, on_line(line, i), opposite(on));
  for (int i = first; i + 1 < end; ++i) {
    if (!passes(i + 1)) spread(f, on_line(line, i), on);
  }
  return true;
}

}  // namespace

Port direction(Coord from, Coord to) {
  if (to.x != from.x) return to.x > from.x ? Port::east : Port::west;
  return to.y > from.y ? Port::south : Port::north;
}

RouteConfig fixed_route(PortSet rx, PortSet tx) {
  RouteConfig c;
  c.positions[0] = {true, rx, tx};
  return c;
}

void add_output(RouteConfig& c, Port p) {
  for (SwitchPosition& position : c.positions) {
    if (position.valid) position.tx |= port_bit(p);
  }
}

void take_way(Flow& f, Flow way) {
  f.routers = std::move(way.routers);
  f.color = way.color;
  f.switches = way.switches;
}

Paths::Paths(const Extent& fabric, int most, double most_wavelets)
    : fabric_(fabric),
      calm_((most + 1) / 2),
      most_(most),
      flows_at_(size_t(fabric.width) * size_t(fabric.height), 0),
      colors_at_(flows_at_.size(), 0),
      loads_(fabric),
      most_wavelets_(most_wavelets) {}

void Paths::add(const Flow& f, const Wavelets& wavelets) {
  ++added_;
  loads_.add(f, wavelets);
  for (const auto& [key, config] : f.routers) {
    if (!fabric_.contains({key.x, key.y})) continue;
    ++flows_at_[at(key)];
    if (f.color >= 0) colors_at_[at(key)] |= uint32_t(1) << f.color;
  }
}

void Paths::remove(const Flow& f, const Wavelets& wavelets) {
  std::erase_if(regions_, [&](const auto& known) { return known.first.first == f.color || known.first.first < 0; });
  loads_.add(f, -wavelets);
  for (const auto& [key, config] : f.routers) {
    if (!fabric_.contains({key.x, key.y})) continue;
    --flows_at_[at(key)];
    if (f.color >= 0) colors_at_[at(key)] &= ~(uint32_t(1) << f.color);
  }
}

Avoid Paths::within(double more) const {
  Avoid a = avoid(calm_);
  a.loads = &loads_, a.wavelets = wavelets_, a.most_wavelets = more * most_wavelets_;
  return a;
}

std::vector<Avoid> Paths::wishes() const {
  std::vector<Avoid> list;
  if (over_others_) return {avoid(most_)};
  for (const double more : kMore) list.push_back(within(more));
  list.push_back(avoid(calm_));
  list.push_back(avoid(most_));
  return list;
}

bool Paths::as_wished(const std::function<bool(const Avoid&)>& attempt) const {
  const std::vector<Avoid> list = wishes();
  const Avoid* before = nullptr;
  for (const Avoid& a : list) {
    const double most = a.loads != nullptr ? a.most_wavelets : std::numeric_limits<double>::max();
    if (before != nullptr && a.most == before->most && most < before->least_refused) continue;
    if (attempt(a)) return true;
    before = &a;
  }
  return false;
}

bool Paths::free(const Flow& f, int color) const {
  return std::none_of(f.routers.begin(), f.routers.end(),
                      [&](const auto& router) { return colors_at_[at(router.first)] >> color & 1; });
}

std::vector<RouterKey> Paths::taken(const Flow& f, int color) const {
  std::vector<RouterKey> list;
  for (const auto& router : f.routers)
    if (colors_at_[at(router.first)] >> color & 1) list.push_back(router.first);
  return list;
}

// The path is not made for that: most end at one of their first routers.
bool Paths::passes(const Flow& f, Coord from, Coord to, bool x_first, const Avoid& avoid) const {
  Coord before = from;
  for (Coord c = from;; before = c, c = step(c, to, x_first)) {
    const bool shared = f.routers.count({c.y, c.x}) > 0;
    if (!shared && avoid.blocks(c)) return false;
    if (c != from && !shared && avoid.crowded(before, direction(before, c))) return false;
    if (c == to) return true;
  }
}

bool Paths::connect(Flow& f, Coord from, Coord to, Port last, const Avoid& avoid) const {
  if (avoid.blocks(to) && !f.routers.contains({to.y, to.x})) return false;
  for (const bool x_first : {true, false}) {
    if (passes(f, from, to, x_first, avoid) && extend(f, path(from, to, x_first), last)) return true;
  }
  return false;
}

// Searches in vain flood all that there is, in color after color, and stream after stream finds the same walls. To know
// the regions takes as long as a flood.
bool Paths::to_core(Flow& f, const Rect& target, const Avoid& avoid) const {
  if (over_others_) return search_cores(f, target, avoid).has_value();
  Known& known = regions_[{color_, avoid.most}];
  if (known.regions && known.regions->part(f, target)) return false;
  if (search_cores(f, target, avoid)) return true;
  constexpr size_t kFlood = 16384;  // routers
  if (avoid.looked_at > kFlood && (!known.regions || known.added != added_))
    known.regions.emplace(avoid), known.added = added_;
  return false;
}

void Paths::begin_rounds() {
  prices_.emplace(fabric_, most_wavelets_);
  search_.emplace(fabric_);
}

bool Paths::by_price(Flow& f, const Rect& target, Port last) const {
  const PricedSearch::Task task{f, target, last, *prices_, loads_, wavelets_};
  return search_->to_target(task, avoid(calm_), avoid(most_), effort_ == Effort::any).has_value();
}

bool Paths::to_pe(Flow& f, Coord from, Coord to) const {
  if (prices_) return by_price(f, {to.x, to.y, 1, 1}, Port::ramp);
  return as_wished([&](const Avoid& avoid) {
    return connect(f, from, to, Port::ramp, avoid) || to_core(f, {to.x, to.y, 1, 1}, avoid);
  });
}

bool Paths::to_edge(Flow& f, Coord from, const Site& site) const {
  return connect(f, from, site.pe, site.side, within(kMore[0])) ||
         connect(f, from, site.pe, site.side, avoid(calm_));
}

bool Paths::to_site(Flow& f, const Site& site) const {
  return by_price(f, {site.pe.x, site.pe.y, 1, 1}, site.side);
}

std::optional<Site> Paths::to_some_edge(Flow& f, const std::vector<Site>& sites) const {
  std::map<RouterKey, const Site*> at;
  for (const Site& s : sites) at.emplace(RouterKey{s.pe.y, s.pe.x}, &s);  // the best of a corner's two
  const auto found = [&](Coord c) {
    const auto it = at.find({c.y, c.x});
    return it == at.end() ? std::nullopt : std::optional<Port>(it->second->side);
  };
  std::optional<Coord> end;
  as_wished([&](const Avoid& avoid) { return (end = search_branch(f, found, avoid)).has_value(); });
  return end ? std::optional(*at.at({end->y, end->x})) : std::nullopt;
}

// To every PE of a row or column: a path to one of them, unless the flow passes one, from there both ways.
bool Paths::to_line(Flow& f, Coord from, const Rect& line) const {
  if (spread_line(f, line)) return true;
  if (prices_) return by_price(f, line, Port::ramp) && spread_line(f, line);
  return as_wished([&](const Avoid& avoid) { return line_from(f, from, line, avoid); });
}

bool Paths::line_from(Flow& f, Coord from, const Rect& line, const Avoid& avoid) const {
  const int length = line.w * line.h;
  for (const int first : {0, length - 1, length / 2}) {
    for (const bool x_first : {true, false}) {
      const Coord to = on_line(line, first);
      if (!passes(f, from, to, x_first, avoid)) continue;
      Flow trial = f;
      if (!extend(trial, path(from, to, x_first), Port::ramp) || !spread_line(trial, line)) continue;
      f = std::move(trial);
      return true;
    }
  }
  return to_core(f, line, avoid) && spread_line(f, line);
}

}  // namespace cs::mapping

// Branches that dimension order does not find: a search over the routers that the flow does not pass yet.
#include <algorithm>
#include <vector>

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

namespace {

// The last ones go on first: x first.
constexpr Port kLinks[] = {Port::north, Port::south, Port::west, Port::east};

}  // namespace

// A router that takes from its own core in turns has only a part of the stream, unless nobody behind it adds
// to it: its outputs lead to the next PE whose turn it is.
bool has_whole_stream(const Flow& f, RouterKey key, const RouteConfig& config) {
  for (Port link : kLinks) {
    if ((config.positions[0].tx & port_bit(link)) == 0) continue;
    Coord next = neighbour({key.x, key.y}, link);
    auto it = f.routers.find({next.y, next.x});
    if (it != f.routers.end() && it->second.positions[1].valid &&
        it->second.positions[1].rx == port_bit(Port::ramp)) {
      return false;
    }
  }
  return true;
}

bool may_leave_by(const RouteConfig& config, Port link) {
  for (const SwitchPosition& p : config.positions) {
    if (p.valid && (p.rx & port_bit(link)) != 0) return false;
  }
  return true;
}

// Steps from there to the rectangle if nothing is in the way.
int steps_to(const Rect& r, Coord c) {
  const int x = std::max({r.x - c.x, c.x - (r.x + r.w - 1), 0}), y = std::max({r.y - c.y, c.y - (r.y + r.h - 1), 0});
  return x + y;
}

namespace {

// From all routers of a flow at once, by steps of the way there and steps that are left at least (A*): the first way
// that is found is a shortest one. Of ways that are equally good so far the one found last goes on, so that in the open
// only routers on one way to the target are looked at. Where no target is known nothing is left: breadth first.
class Search {
 public:
  Search(const Flow& f, const Avoid& avoid, const Rect* target)
      : flow_(f), avoid_(avoid), target_(target), came_by_(avoid.seen != nullptr ? *avoid.seen : own_) {
    came_by_.resize(size_t(avoid.fabric.width) * size_t(avoid.fabric.height), kNot);
    for (const auto& router : f.routers) mark(router.first, kOwn);
  }
  // Most searches end nearby: only what they came by is cleared.
  ~Search() {
    for (const auto& router : flow_.routers) mark(router.first, kNot);
    for (const Coord c : entered_) came_by_[at(c)] = kNot;
    avoid_.looked_at += entered_.size();
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  std::optional<Coord> run(const Goal& goal) {
    if (target_ != nullptr && is_walled_in(*target_)) return std::nullopt;
    find_starts();
    for (size_t all = 0; all < open_.size(); ++all) {
      while (!open_[all].empty()) {
        const Open next = open_[all].back();
        open_[all].pop_back();
        if (came_by_[at(next.at)] != kNot) continue;
        came_by_[at(next.at)] = uint8_t(kFirst + uint8_t(next.came_by));
        entered_.push_back(next.at);
        if (goal(next.at)) return next.at;
        for (const Port link : kLinks) find(next.at, link, next.steps + 1);
      }
    }
    return std::nullopt;
  }
  // The side on which the branch enters.
  Port came_by(Coord c) const { return Port(came_by_[at(c)] - kFirst); }

 private:
  // No way leads there yet; a router of the flow; from there a way leads to the target; ports.
  static constexpr uint8_t kNot = 0, kOwn = 1, kBehind = 2, kFirst = 3;
  // Routers. Most targets to which no way leads are full themselves, or have full ones close around them.
  static constexpr size_t kWalled = 4096;
  struct Open {
    Coord at;
    int steps = 0;  // of the way there
    Port came_by = Port::ramp;
  };

  // Backwards from the target, up to a router of the flow.
  bool is_walled_in(const Rect& target) {
    std::vector<Coord> behind;
    const auto enter = [&](Coord c) {
      if (avoid_.blocks(c) || came_by_[at(c)] != kNot) return;
      came_by_[at(c)] = kBehind;
      behind.push_back(c);
    };
    for (int y = target.y; y < target.y + target.h; ++y)
      for (int x = target.x; x < target.x + target.w; ++x) enter({x, y});
    bool open = false;
    for (size_t next = 0; next < behind.size() && !open; ++next) {
      for (const Port link : kLinks) {
        const Coord from = neighbour(behind[next], link);
        if (!avoid_.fabric.contains(from) || avoid_.crowded(from, opposite(link))) continue;
        open = open || came_by_[at(from)] == kOwn || behind.size() > kWalled;
        enter(from);
      }
    }
    for (const Coord c : behind) came_by_[at(c)] = kNot;
    return !open;
  }

  // Links by which a branch may leave the flow.
  void find_starts() {
    for (const auto& [key, config] : flow_.routers) {
      if (!has_whole_stream(flow_, key, config)) continue;
      for (Port link : kLinks)
        if (may_leave_by(config, link)) find({key.x, key.y}, link, 1);
    }
  }
  size_t at(Coord c) const { return size_t(c.y) * size_t(avoid_.fabric.width) + size_t(c.x); }
  void mark(RouterKey key, uint8_t what) {
    if (avoid_.fabric.contains({key.x, key.y})) came_by_[at({key.x, key.y})] = what;
  }
  // By a way of so many steps.
  void find(Coord from, Port link, int steps) {
    const Coord c = neighbour(from, link);
    if (avoid_.blocks(c) || came_by_[at(c)] != kNot || avoid_.crowded(from, link)) return;
    const int left = target_ != nullptr ? steps_to(*target_, c) : 0;
    const size_t all = size_t(steps) + size_t(left);
    if (all >= open_.size()) open_.resize(all + 1);
    open_[all].push_back({c, steps, opposite(link)});
  }

  const Flow& flow_;
  const Avoid& avoid_;
  const Rect* target_;
  std::vector<uint8_t> own_;
  std::vector<uint8_t>& came_by_;
  std::vector<std::vector<Open>> open_;  // by steps in all
  std::vector<Coord> entered_;
};

// Where the goal is known to be inside a rectangle, that.
std::optional<Coord> branch(Flow& f, const Goal& goal, const Avoid& avoid, const Rect* target) {
  if (const auto end = end_where_it_passes(f, goal)) return end;
  Search search(f, avoid, target);
  const std::optional<Coord> end = search.run(goal);
  if (end) add_branch(f, *end, *goal(*end), [&](Coord c) { return search.came_by(c); });
  return end;
}

}  // namespace

std::optional<Coord> end_where_it_passes(Flow& f, const Goal& goal) {
  for (auto& [key, config] : f.routers) {
    const std::optional<Port> last = goal({key.x, key.y});
    if (!last || !has_whole_stream(f, key, config) || !may_leave_by(config, *last)) continue;
    add_output(config, *last);
    return Coord{key.x, key.y};
  }
  return std::nullopt;
}

void add_branch(Flow& f, Coord end, Port last, const std::function<Port(Coord)>& came_by) {
  Port out = last;
  for (Coord c = end;;) {
    const auto it = f.routers.find({c.y, c.x});
    if (it != f.routers.end()) return add_output(it->second, out);
    const Port from = came_by(c);
    f.routers[{c.y, c.x}] = fixed_route(port_bit(from), port_bit(out));
    out = opposite(from);
    c = neighbour(c, from);
  }
}

Goal inside(const Rect& target, Port last) {
  return [target, last](Coord c) {
    return target.contains(c) ? std::optional<Port>(last) : std::nullopt;
  };
}

std::optional<Coord> search_branch(Flow& f, const Goal& goal, const Avoid& avoid) {
  return branch(f, goal, avoid, nullptr);
}

std::optional<Coord> search_cores(Flow& f, const Rect& target, const Avoid& avoid) {
  return branch(f, inside(target, Port::ramp), avoid, &target);
}

}  // namespace cs::mapping

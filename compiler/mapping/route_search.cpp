// Branches that dimension order does not find: breadth-first search over the routers that the flow does not
// pass yet.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

namespace {

constexpr Port kLinks[] = {Port::east, Port::south, Port::west, Port::north};

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

// Breadth first, from all routers of a flow at once. Where the target is known, first without the routers through which
// every way is longer than a few steps more than the shortest that there could be. What is left out so could not have
// been the first to enter a router that is not: the branch is the same.
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
    clear();
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  std::optional<Coord> run(const Goal& goal) {
    if (target_ != nullptr && is_walled_in(*target_)) return std::nullopt;
    find_starts();
    if (target_ == nullptr) return round(goal);
    longest_ = 0;
    round(goal);  // enters nothing, but finds how short a way could be
    for (const int detour : kDetours) {
      if (left_out_ == kAny) return std::nullopt;  // nothing was: there is no way
      longest_ = detour == kAny ? kAny : left_out_ + detour;
      left_out_ = kAny;
      if (const std::optional<Coord> end = round(goal)) return end;
      clear();
    }
    return std::nullopt;
  }
  // The side on which the branch enters.
  Port came_by(Coord c) const { return Port(came_by_[at(c)] - kFirst); }

 private:
  // No way leads there yet; a router of the flow; from there a way leads to the target; ports.
  static constexpr uint8_t kNot = 0, kOwn = 1, kBehind = 2, kFirst = 3;
  static constexpr int kAny = std::numeric_limits<int>::max();
  // Steps more than the shortest way that there could be.
  static constexpr int kDetours[] = {4, 32, kAny};
  // Routers. Most targets to which no way leads are full themselves, or have full ones close around them.
  static constexpr size_t kWalled = 4096;

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
        if (may_leave_by(config, link)) starts_.emplace_back(Coord{key.x, key.y}, link);
    }
  }
  std::optional<Coord> round(const Goal& goal) {
    for (const auto& [from, link] : starts_) enter(from, link, 1);
    size_t end_of_step = queue_.size();
    for (size_t next = 0, steps = 2; next < queue_.size(); ++next) {
      if (next == end_of_step) end_of_step = queue_.size(), ++steps;
      const Coord c = queue_[next];
      if (goal(c)) return c;
      for (Port link : kLinks) enter(c, link, int(steps));
    }
    return std::nullopt;
  }
  void clear() {
    for (const Coord c : queue_) came_by_[at(c)] = kNot;
    queue_.clear();
  }
  size_t at(Coord c) const { return size_t(c.y) * size_t(avoid_.fabric.width) + size_t(c.x); }
  void mark(RouterKey key, uint8_t what) {
    if (avoid_.fabric.contains({key.x, key.y})) came_by_[at({key.x, key.y})] = what;
  }
  // By a way of so many steps.
  void enter(Coord from, Port link, int steps) {
    const Coord c = neighbour(from, link);
    if (avoid_.blocks(c) || came_by_[at(c)] != kNot || avoid_.crowded(from, link)) return;
    if (const int all = longest_ != kAny ? steps + steps_to(*target_, c) : 0; all > longest_) {
      left_out_ = std::min(left_out_, all);
      return;
    }
    came_by_[at(c)] = uint8_t(kFirst + uint8_t(opposite(link)));
    queue_.push_back(c);
  }

  const Flow& flow_;
  const Avoid& avoid_;
  const Rect* target_;
  int longest_ = kAny, left_out_ = kAny;  // steps: of the ways that are looked at, of the shortest one that is not
  std::vector<uint8_t> own_;
  std::vector<uint8_t>& came_by_;
  std::vector<std::pair<Coord, Port>> starts_;
  std::vector<Coord> queue_;  // all that were entered, in this order
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

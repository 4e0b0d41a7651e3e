// Branches that dimension order does not find: breadth-first search over the routers that the flow does not
// pass yet.
#include <deque>

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

namespace {

constexpr Port kLinks[] = {Port::east, Port::south, Port::west, Port::north};

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

// Breadth first, from all routers of a flow at once.
class Search {
 public:
  Search(const Flow& f, const Avoid& avoid)
      : flow_(f), avoid_(avoid), came_by_(size_t(avoid.fabric.width) * size_t(avoid.fabric.height), kNot) {
    for (const auto& router : f.routers) {
      const Coord c{router.first.x, router.first.y};
      if (avoid.fabric.contains(c)) came_by_[at(c)] = kOwn;
    }
  }

  std::optional<Coord> run(const Goal& goal) {
    for (const auto& [key, config] : flow_.routers) {
      if (!has_whole_stream(flow_, key, config)) continue;
      for (Port link : kLinks)
        if (may_leave_by(config, link)) enter({key.x, key.y}, link);
    }
    while (!queue_.empty()) {
      const Coord c = queue_.front();
      queue_.pop_front();
      if (goal(c)) return c;
      for (Port link : kLinks) enter(c, link);
    }
    return std::nullopt;
  }
  // The side on which the branch enters.
  Port came_by(Coord c) const { return Port(came_by_[at(c)]); }

 private:
  static constexpr uint8_t kNot = 0xFF, kOwn = 0xFE;  // no way leads there yet; a router of the flow
  size_t at(Coord c) const { return size_t(c.y) * size_t(avoid_.fabric.width) + size_t(c.x); }
  void enter(Coord from, Port link) {
    const Coord c = neighbour(from, link);
    if (avoid_.blocks(c) || came_by_[at(c)] != kNot || avoid_.crowded(from, link)) return;
    came_by_[at(c)] = uint8_t(opposite(link));
    queue_.push_back(c);
  }

  const Flow& flow_;
  const Avoid& avoid_;
  std::vector<uint8_t> came_by_;
  std::deque<Coord> queue_;
};

}  // namespace

std::optional<Coord> search_branch(Flow& f, const Goal& goal, const Avoid& avoid) {
  for (auto& [key, config] : f.routers) {  // where it passes already
    const std::optional<Port> last = goal({key.x, key.y});
    if (!last || !has_whole_stream(f, key, config) || !may_leave_by(config, *last)) continue;
    add_output(config, *last);
    return Coord{key.x, key.y};
  }
  Search search(f, avoid);
  const std::optional<Coord> end = search.run(goal);
  if (!end) return end;
  Port out = *goal(*end);
  for (Coord c = *end;;) {
    const auto it = f.routers.find({c.y, c.x});
    if (it != f.routers.end()) {
      add_output(it->second, out);
      return end;
    }
    const Port from = search.came_by(c);
    f.routers[{c.y, c.x}] = fixed_route(port_bit(from), port_bit(out));
    out = opposite(from);
    c = neighbour(c, from);
  }
}

}  // namespace cs::mapping

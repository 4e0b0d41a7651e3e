// Branches that dimension order does not find: breadth-first search over the routers that the flow does not
// pass yet.
#include <deque>

#include "compiler/mapping/plan.h"

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

void add_output(RouteConfig& config, Port link) {
  for (SwitchPosition& p : config.positions) {
    if (p.valid) p.tx |= port_bit(link);
  }
}

}  // namespace

std::optional<Coord> search_branch(Flow& f, const Rect& goal, const Extent& fabric) {
  std::map<RouterKey, Port> came_by;  // side on which the branch enters
  std::deque<Coord> queue;
  auto in_goal = [&](Coord c) {
    return c.y >= goal.y && c.y < goal.y + goal.h && c.x >= goal.x && c.x < goal.x + goal.w;
  };
  auto enter = [&](Coord from, Port link) {
    Coord c = neighbour(from, link);
    RouterKey key{c.y, c.x};
    bool inside = c.x >= 0 && c.y >= 0 && c.x < fabric.width && c.y < fabric.height;
    if (!inside || f.routers.count(key) || !came_by.emplace(key, opposite(link)).second) return;
    queue.push_back(c);
  };
  for (const auto& [key, config] : f.routers) {
    if (!has_whole_stream(f, key, config)) continue;
    for (Port link : kLinks) {
      if (may_leave_by(config, link)) enter({key.x, key.y}, link);
    }
  }
  while (!queue.empty()) {
    Coord c = queue.front();
    queue.pop_front();
    if (!in_goal(c)) {
      for (Port link : kLinks) enter(c, link);
      continue;
    }
    Port out = Port::ramp;
    for (Coord at = c;;) {
      RouterKey key{at.y, at.x};
      auto it = f.routers.find(key);
      if (it != f.routers.end()) {
        add_output(it->second, out);
        return c;
      }
      RouteConfig config;
      config.positions[0] = {true, port_bit(came_by.at(key)), port_bit(out)};
      f.routers[key] = config;
      out = opposite(came_by.at(key));
      at = neighbour(at, came_by.at(key));
    }
  }
  return std::nullopt;
}

}  // namespace cs::mapping

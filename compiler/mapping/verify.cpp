// The verifier of routes and colors. It looks at the result only and shares no code with what made it.
#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "compiler/algo/coloring.h"
#include "compiler/mapping/plan.h"
#include "runtime/machine/field_widths.h"

namespace cs::mapping {

namespace {

constexpr Port kLinks[] = {Port::east, Port::west, Port::south, Port::north};

class Verifier {
 public:
  Verifier(const FlowPlan& plan, const Parts& parts, const Extent& fabric, const Machine& machine, Diag& diag)
      : plan_(plan),
        parts_(parts),
        fabric_(fabric),
        machine_(machine),
        diag_(diag),
        configs_(size_t(fabric.width) * size_t(fabric.height), nullptr) {}

  bool run() {
    size_t before = diag_.errors();
    one_config_per_color();
    for (const Flow& f : plan_.flows) {
      switches(f);
      for (const auto& [key, config] : f.routers)
        if (fabric_.contains({key.x, key.y})) here(key) = &config;
      for (const auto& [key, config] : f.routers) router(f, key, config);
      for (const auto& [key, config] : f.routers)
        if (fabric_.contains({key.x, key.y})) here(key) = nullptr;
    }
    no_circles();
    return diag_.errors() == before;
  }

 private:
  const RouteConfig*& here(RouterKey key) { return configs_[size_t(key.y) * size_t(fabric_.width) + size_t(key.x)]; }
  void fail(const std::string& flow, const std::string& why) { diag_.error_at(flow, why); }

  // Routers outside the fabric are reported as such.
  void one_config_per_color() {
    std::vector<uint32_t> taken(size_t(fabric_.width) * size_t(fabric_.height), 0);
    static_assert(widths::kColors <= 32, "colors are bits of a word");
    for (const Flow& f : plan_.flows) {
      if (f.color < 0 || f.color >= machine_.router.colors) {
        fail(f.name, fmt::format("color {}", f.color));
        continue;
      }
      for (const auto& [key, config] : f.routers) {
        if (!fabric_.contains({key.x, key.y})) continue;
        uint32_t& colors = taken[size_t(key.y) * size_t(fabric_.width) + size_t(key.x)];
        if ((colors >> f.color & 1) != 0)
          fail(f.name, fmt::format("color {} at ({}, {}) belongs to {}", f.color, key.x, key.y, owner(f.color, key)));
        colors |= uint32_t(1) << f.color;
      }
    }
  }

  // The first flow with this color there.
  const std::string& owner(int color, RouterKey key) const {
    return std::find_if(plan_.flows.begin(), plan_.flows.end(),
                        [&](const Flow& f) { return f.color == color && f.routers.contains(key); })
        ->name;
  }

  void switches(const Flow& f) {
    bool used = false;
    for (const auto& [key, config] : f.routers) {
      for (size_t p = 1; p < config.positions.size(); ++p) used = used || config.positions[p].valid;
    }
    bool allowed = false;
    for (int c : machine_.router.switchable_colors) allowed = allowed || c == f.color;
    if (used && !allowed) fail(f.name, fmt::format("color {} has no switch positions", f.color));
  }

  static PortSet any(const RouteConfig& c, bool outputs) {
    PortSet set = 0;
    for (const SwitchPosition& p : c.positions) {
      if (p.valid) set = PortSet(set | (outputs ? p.tx : p.rx));
    }
    return set;
  }

  bool has_port(const Flow& f, RouterKey key, Port side, bool input) const {
    bool row = side == Port::east || side == Port::west;
    for (size_t p = 0; p < plan_.ports.size(); ++p) {
      const HostPort& port = plan_.ports[p];
      if (&plan_.flows[size_t(plan_.port_flow[p])] == &f && port.input == input && port.side == side &&
          port.position == (row ? key.y : key.x) && port.color == f.color) {
        return true;
      }
    }
    return false;
  }

  void router(const Flow& f, RouterKey key, const RouteConfig& config) {
    if (key.x < 0 || key.y < 0 || key.x >= fabric_.width || key.y >= fabric_.height) {
      return fail(f.name, fmt::format("({}, {}) is outside the fabric", key.x, key.y));
    }
    for (const SwitchPosition& p : config.positions) {
      if (!p.valid) continue;
      if (std::popcount(p.rx) != 1)
        fail(f.name, fmt::format("({}, {}) has {} inputs", key.x, key.y, std::popcount(p.rx)));
      if (p.tx == 0) fail(f.name, fmt::format("({}, {}) has no output", key.x, key.y));
      if ((p.rx & p.tx) != 0)
        fail(f.name, fmt::format("({}, {}) sends back where it came from", key.x, key.y));
    }
    for (Port link : kLinks) side(f, key, config, link);
  }

  // What crosses one side of a router must fit its neighbour or a host port.
  void side(const Flow& f, RouterKey key, const RouteConfig& config, Port link) {
    Coord next = neighbour({key.x, key.y}, link);
    bool inside = next.x >= 0 && next.y >= 0 && next.x < fabric_.width && next.y < fabric_.height;
    const RouteConfig* beside = inside ? here({next.y, next.x}) : nullptr;
    bool out = (any(config, true) & port_bit(link)) != 0, in = (any(config, false) & port_bit(link)) != 0;
    bool taken = beside && (any(*beside, false) & port_bit(opposite(link))) != 0;
    bool fed = beside && (any(*beside, true) & port_bit(opposite(link))) != 0;
    if (out && !(inside ? taken : has_port(f, key, link, false))) {
      fail(f.name, fmt::format("({}, {}) sends to a side where nobody takes it", key.x, key.y));
    }
    if (in && !(inside ? fed : has_port(f, key, link, true))) {
      fail(f.name, fmt::format("({}, {}) expects wavelets that nobody sends", key.x, key.y));
    }
  }

  // A stream waits for the streams its takers produce. A circle of waiting could fill all buffers and stop.
  // What is there before a sample begins waits for nothing of it.
  void no_circles() {
    std::vector<std::vector<size_t>> produced(parts_.instances.size());
    for (size_t s = 0; s < parts_.streams.size(); ++s)
      if (const int producer = parts_.streams[s].producer; producer >= 0 && !parts_.streams[s].initial)
        produced[size_t(producer)].push_back(s);
    std::vector<algo::Edge> edges;
    for (size_t s = 0; s < parts_.streams.size(); ++s)
      for (const Taker& t : parts_.streams[s].takers)
        if (t.instance >= 0)
          for (size_t next : produced[size_t(t.instance)]) edges.push_back({s, next});
    std::vector<int> component = algo::strong_components(parts_.streams.size(), edges);
    std::set<int> seen;
    for (size_t s = 0; s < component.size(); ++s) {
      if (!seen.insert(component[s]).second) fail(parts_.streams[s].name, "this stream waits for itself");
    }
  }

  const FlowPlan& plan_;
  const Parts& parts_;
  const Extent& fabric_;
  const Machine& machine_;
  Diag& diag_;
  std::vector<const RouteConfig*> configs_;  // of the flow that is looked at, by router
};

}  // namespace

bool verify_flows(const FlowPlan& plan, const Parts& parts, const Extent& fabric, const Machine& machine,
                  Diag& diag) {
  return Verifier(plan, parts, fabric, machine, diag).run();
}

}  // namespace cs::mapping

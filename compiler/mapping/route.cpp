// Routing: the routers that every flow passes, and what each of them does with it.
//
// Inside an instance (docs/autogen.md):
//   scatter   the feeder's color runs along the first row; a router takes its slice and multicasts it down
//   its column
//             (position 0), and after an ADVANCE passes the rest to the east (position 1)
//   chain     two colors alternate from column to column
//   turns     PEs that send one after another: a router first passes what comes from upstream (position 0),
//   then
//             takes from its own core (position 1); a control wavelet of the upstream PE makes the change
// Between instances: from the exit of the producer to every taker in dimension order, x first (y first where
// x first would meet the flow itself). Paths of one flow share their beginning and form a tree. Streams of
// the host enter and leave at the nearest edge PE that has no other port.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

RouteConfig fixed_route(PortSet rx, PortSet tx) {
  RouteConfig c;
  c.positions[0] = {true, rx, tx};
  return c;
}

PortSet bit(Port p) { return port_bit(p); }

struct Site {  // an edge PE with the side a host stream crosses
  Port side = Port::west;
  int position = 0;
  Coord pe;
  int distance = 0;
};

class Planner {
 public:
  Planner(const Parts& parts, const Extent& fabric, const Machine& machine, FlowPlan& plan, Diag& diag)
      : parts_(parts), fabric_(fabric), machine_(machine), plan_(plan), diag_(diag) {}

  bool run() {
    plan_.of_instance.resize(parts_.instances.size());
    for (size_t i = 0; i < parts_.instances.size(); ++i) inside(i);
    plan_.of_stream.assign(parts_.streams.size(), -1);
    for (size_t s = 0; s < parts_.streams.size(); ++s) {
      if (!parts_.streams[s].takers.empty()) stream(s);
    }
    for (size_t s = 0; diag_.ok() && s < parts_.streams.size(); ++s)
      filters(parts_.streams[s], plan_.of_stream[s]);
    return diag_.ok();
  }

 private:
  int add_flow(std::string name) {
    plan_.flows.push_back({std::move(name), {}, false, -1, -1});
    return int(plan_.flows.size()) - 1;
  }
  Flow& flow(int f) { return plan_.flows[size_t(f)]; }

  // ---- inside an instance

  void inside(size_t i) {
    const Instance& inst = parts_.instances[i];
    if (inst.in_rows()) return rows(inst, plan_.of_instance[i]);
    for (int k = 0; k < inst.feeders(); ++k) plan_.of_instance[i].scatter.push_back(scatter(inst, k));
    const bool chains = inst.footprint().partial_sums || inst.slack > 0;
    for (int parity = 0; chains && parity < 2 && parity + 1 < inst.rect.w; ++parity) {
      plan_.of_instance[i].chain[parity] = chain(inst, parity);
    }
  }

  int scatter(const Instance& inst, int operand) {
    int f = add_flow(fmt::format("{} scatter{}", inst.name, operand > 0 ? fmt::format(" {}", operand) : ""));
    Coord feeder = inst.entry(operand);
    auto& routers = flow(f).routers;
    routers[{feeder.y, feeder.x}] = fixed_route(bit(Port::ramp), bit(Port::east));
    for (int x = feeder.x + 1; x < inst.rect.x; ++x) {
      routers[{feeder.y, x}] = fixed_route(bit(Port::west), bit(Port::east));
    }
    for (int c = 0; c < inst.rect.w; ++c) {
      int x = inst.rect.x + c;
      for (int r = 0; r < inst.rect.h; ++r) {
        PortSet down = r + 1 < inst.rect.h ? bit(Port::south) : PortSet(0);
        RouteConfig config =
            fixed_route(bit(r == 0 ? Port::west : Port::north), PortSet(bit(Port::ramp) | down));
        if (r == 0 && c + 1 < inst.rect.w) {
          config.positions[1] = {true, bit(Port::west), bit(Port::east)};
          flow(f).switches = true;
        }
        routers[{inst.rect.y + r, x}] = config;
      }
    }
    return f;
  }

  // A region in rows: each has a feeder that all its PEs listen to, and a collector to which they send in
  // turns.
  void rows(const Instance& inst, InstanceFlows& flows) {
    for (int k = 0; k < inst.work.operands; ++k) {
      flows.scatter.push_back(add_flow(fmt::format("{} rows {}", inst.name, k)));
      for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
        auto& routers = flow(flows.scatter.back()).routers;
        routers[{y, inst.rect.x - 1}] = fixed_route(bit(Port::ramp), bit(Port::east));
        for (int c = 0; c < inst.rect.w; ++c) {
          PortSet on = c + 1 < inst.rect.w ? bit(Port::east) : PortSet(0);
          routers[{y, inst.rect.x + c}] = fixed_route(bit(Port::west), PortSet(bit(Port::ramp) | on));
        }
      }
    }
    for (size_t j = 0; j < inst.results.size(); ++j) {
      flows.gather.push_back(add_flow(fmt::format("{} results {}", inst.name, j)));
      Flow& f = flow(flows.gather.back());
      for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
        turns(f, {inst.rect.x, y}, Port::east, inst.rect.w);
        add_output(f.routers.at({y, inst.rect.x + inst.rect.w - 1}), Port::east);
        f.routers[{y, inst.rect.x + inst.rect.w}] = fixed_route(bit(Port::west), bit(Port::ramp));
      }
    }
  }

  int chain(const Instance& inst, int parity) {
    int f = add_flow(fmt::format("{} chain {}", inst.name, parity));
    for (int r = 0; r < inst.rect.h; ++r) {
      for (int c = parity; c + 1 < inst.rect.w; c += 2) {
        int y = inst.rect.y + r, x = inst.rect.x + c;
        flow(f).routers[{y, x}] = fixed_route(bit(Port::ramp), bit(Port::east));
        flow(f).routers[{y, x + 1}] = fixed_route(bit(Port::west), bit(Port::ramp));
      }
    }
    return f;
  }

  // The PEs that send in turns, the last of which is the exit. Its output ports are added by the paths.
  static void turns(const Instance& inst, Flow& f) {
    const bool down = inst.footprint().out.front().down;
    Coord exit = inst.exit();
    int count = !inst.in_turns() ? 1 : down ? inst.rect.h : inst.rect.w;
    Coord first = down ? Coord{exit.x, exit.y - (count - 1)} : Coord{exit.x - (count - 1), exit.y};
    turns(f, first, down ? Port::south : Port::east, count);
  }
  // So many PEs one after another, in the direction of `to`.
  static void turns(Flow& f, Coord at, Port to, int count) {
    for (int i = 0; i < count; ++i, at = neighbour(at, to)) {
      PortSet tx = i + 1 < count ? bit(to) : PortSet(0);
      RouteConfig config = fixed_route(bit(Port::ramp), tx);
      if (i > 0) {
        config.positions[0] = {true, bit(opposite(to)), tx};
        config.positions[1] = {true, bit(Port::ramp), tx};
        config.pop_mode = PopMode::pop_on_advance;
        f.switches = true;
      }
      f.routers[{at.y, at.x}] = config;
    }
  }

  // ---- paths

  static Port direction(Coord from, Coord to) {
    if (to.x != from.x) return to.x > from.x ? Port::east : Port::west;
    return to.y > from.y ? Port::south : Port::north;
  }

  static std::vector<Coord> path(Coord from, Coord to, bool x_first) {
    std::vector<Coord> list{from};
    auto walk_x = [&] {
      while (list.back().x != to.x) {
        Coord c = list.back();
        list.push_back({c.x + (to.x > c.x ? 1 : -1), c.y});
      }
    };
    auto walk_y = [&] {
      while (list.back().y != to.y) {
        Coord c = list.back();
        list.push_back({c.x, c.y + (to.y > c.y ? 1 : -1)});
      }
    };
    if (x_first) walk_x();
    walk_y();
    walk_x();
    return list;
  }

  static void add_output(RouteConfig& c, Port p) {
    for (SwitchPosition& position : c.positions) {
      if (position.valid) position.tx |= bit(p);
    }
  }

  // Extends the flow by a path that leaves it by `last` at its end. False if the path meets the flow from
  // aside.
  static bool extend(Flow& f, const std::vector<Coord>& way, Port last) {
    for (size_t i = 1; i < way.size(); ++i) {
      Port from = opposite(direction(way[i - 1], way[i]));
      auto it = f.routers.find({way[i].y, way[i].x});
      if (it != f.routers.end() && it->second.positions[0].rx != bit(from)) return false;
    }
    if (way.size() == 1 && f.routers.at({way[0].y, way[0].x}).positions[0].rx == bit(last)) return false;
    for (size_t i = 0; i < way.size(); ++i) {
      Port out = i + 1 < way.size() ? direction(way[i], way[i + 1]) : last;
      RouterKey key{way[i].y, way[i].x};
      if (i > 0 && !f.routers.count(key)) {
        f.routers[key] = fixed_route(bit(opposite(direction(way[i - 1], way[i]))), 0);
      }
      add_output(f.routers.at(key), out);
    }
    return true;
  }

  static bool connect(Flow& f, Coord from, Coord to, Port last) {
    return extend(f, path(from, to, true), last) || extend(f, path(from, to, false), last);
  }

  // To every PE of a row or column: a path to one of them, unless the flow passes one, from there both ways.
  bool connect_line(Flow& f, Coord from, const Rect& line) const {
    if (spread_line(f, line)) return true;
    int length = line.w * line.h;
    for (int first : {0, length - 1, length / 2}) {
      for (bool x_first : {true, false}) {
        Flow trial = f;
        if (!extend(trial, path(from, on_line(line, first), x_first), Port::ramp)) continue;
        if (!spread_line(trial, line)) continue;
        f = std::move(trial);
        return true;
      }
    }
    return search_branch(f, line, fabric_) && spread_line(f, line);
  }
  static Coord on_line(const Rect& line, int i) {
    return line.h > 1 ? Coord{line.x, line.y + i} : Coord{line.x + i, line.y};
  }
  // The flow's routers on the line pass it on to their cores and to those beside them; false if there are
  // none.
  static bool spread_line(Flow& f, const Rect& line) {
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
  static void spread(Flow& f, Coord at, Port to) {
    add_output(f.routers.at({at.y, at.x}), to);
    Coord next = neighbour(at, to);
    f.routers[{next.y, next.x}] = fixed_route(bit(opposite(to)), bit(Port::ramp));
  }
  bool connect_pe(Flow& f, Coord from, Coord to) const {
    return connect(f, from, to, Port::ramp) || search_branch(f, {to.x, to.y, 1, 1}, fabric_);
  }

  // ---- filters

  // What a region's cores do not take of a stream, their routers reject: those of its feeders and then those
  // of its rows, or those of its only row.
  void filters(const Stream& s, int f) {
    for (const Taker& t : s.takers) {
      if (t.instance < 0 || !parts_.instances[size_t(t.instance)].region) continue;
      const Instance& inst = parts_.instances[size_t(t.instance)];
      const RegionLayout& layout = inst.layout;
      const size_t k = size_t(t.operand);
      Flow& row = layout.in_rows() ? flow(plan_.of_instance[size_t(t.instance)].scatter[k]) : flow(f);
      for (int y = 0; y < layout.h; ++y) {
        if (layout.in_rows())
          filter(flow(f), {inst.rect.x - 1, inst.rect.y + y}, layout.feeder_filters[size_t(y)][k]);
        for (int x = 0; x < layout.w; ++x) {
          const RegionPe& pe = layout.pes[size_t(y) * size_t(layout.w) + size_t(x)];
          filter(row, {inst.rect.x + x, inst.rect.y + y}, pe.filters[k]);
        }
      }
    }
  }
  static void filter(Flow& f, Coord at, const autogen::StreamFilter& filter) {
    if (!filter.used()) return;
    FilterConfig& c = f.routers.at({at.y, at.x}).filter;
    c.kind = FilterKind::counter;
    c.count_data = true;
    c.init_counter = uint16_t(filter.first);
    c.max_counter = uint16_t(filter.keep - 1);
    c.limit1 = uint16_t(filter.period - 1);
  }

  // ---- streams

  std::vector<Site> sites(Coord near) const {
    std::vector<Site> list;
    for (int x = 0; x < fabric_.width; ++x) {
      list.push_back({Port::north, x, {x, 0}, std::abs(x - near.x) + near.y});
      list.push_back(
          {Port::south, x, {x, fabric_.height - 1}, std::abs(x - near.x) + fabric_.height - 1 - near.y});
    }
    for (int y = 0; y < fabric_.height; ++y) {
      list.push_back({Port::west, y, {0, y}, std::abs(y - near.y) + near.x});
      list.push_back(
          {Port::east, y, {fabric_.width - 1, y}, std::abs(y - near.y) + fabric_.width - 1 - near.x});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const Site& a, const Site& b) { return a.distance < b.distance; });
    return list;
  }

  bool free(const Site& s) const {
    int on_side = 0;
    for (const HostPort& p : plan_.ports) {
      if (p.side == s.side && p.position == s.position) return false;
      on_side += p.side == s.side ? 1 : 0;
    }
    return on_side < machine_.host.host_ports;
  }

  void add_port(const Site& s, const std::string& name, bool input, int f) {
    plan_.ports.push_back({name, input, s.side, s.position, 0});
    plan_.port_flow.push_back(f);
  }

  void stream(size_t index) {
    const Stream& s = parts_.streams[index];
    int f = add_flow(s.name);
    flow(f).stream = int(index);
    plan_.of_stream[index] = f;
    bool ok = s.producer >= 0 ? from_instance(s, f) : from_host(s, f);
    if (!ok) {
      diag_.error_at(s.name, "no route was found for this stream",
                     fmt::format("it has {} takers; a larger --fabric leaves more room", s.takers.size()));
    }
  }

  bool to_instances(const Stream& s, int f, Coord from) {
    bool ok = true;
    for (const Taker& t : s.takers) {
      if (t.instance < 0) continue;
      const Instance& taker = parts_.instances[size_t(t.instance)];
      ok = ok && (taker.region && taker.rect.w * taker.rect.h > 1
                      ? connect_line(flow(f), from, taker.line())
                      : connect_pe(flow(f), from, taker.entry(t.operand)));
    }
    return ok;
  }

  bool from_instance(const Stream& s, int f) {
    const Instance& producer = parts_.instances[size_t(s.producer)];
    turns(producer, flow(f));
    if (!to_instances(s, f, producer.exit())) return false;
    if (s.port_out.empty()) return true;
    for (const Site& site : sites(producer.exit())) {
      if (!free(site) || !connect(flow(f), producer.exit(), site.pe, site.side)) continue;
      add_port(site, s.port_out, false, f);
      return true;
    }
    return false;
  }

  bool from_host(const Stream& s, int f) {
    const Taker& first = s.takers.front();
    for (const Site& site : sites(parts_.instances[size_t(first.instance)].entry(first.operand))) {
      if (!free(site)) continue;
      flow(f).routers = {{RouterKey{site.pe.y, site.pe.x}, fixed_route(bit(site.side), 0)}};
      if (!to_instances(s, f, site.pe)) continue;
      add_port(site, s.port_in, true, f);
      return true;
    }
    return false;
  }

  const Parts& parts_;
  const Extent& fabric_;
  const Machine& machine_;
  FlowPlan& plan_;
  Diag& diag_;
};

}  // namespace

bool route_flows(const Parts& parts, const Extent& fabric, const Machine& machine, FlowPlan& plan,
                 Diag& diag) {
  plan = {};
  return Planner(parts, fabric, machine, plan, diag).run();
}

}  // namespace cs::mapping

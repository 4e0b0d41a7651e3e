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
// Between instances and to the edge: route_streams.h.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/mapping/route_streams.h"

namespace cs::mapping {

namespace {

PortSet bit(Port p) { return port_bit(p); }

// So many PEs one after another, in the direction of `to`.
void turns(Flow& f, Coord at, Port to, int count) {
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

class Inside {
 public:
  Inside(const Parts& parts, FlowPlan& plan) : parts_(parts), plan_(plan) {}

  void run() {
    plan_.of_instance.resize(parts_.instances.size());
    for (size_t i = 0; i < parts_.instances.size(); ++i) inside(i);
  }

 private:
  int add_flow(std::string name) {
    plan_.flows.push_back({std::move(name), {}, false, -1, -1});
    return int(plan_.flows.size()) - 1;
  }
  Flow& flow(int f) { return plan_.flows[size_t(f)]; }

  void inside(size_t i) {
    const Instance& inst = parts_.instances[i];
    const kernels::Footprint footprint = inst.footprint();
    if (footprint.by_rows) rows(inst, footprint, plan_.of_instance[i]);
    for (int k = 0; !footprint.by_rows && k < inst.feeders(); ++k)
      plan_.of_instance[i].scatter.push_back(scatter(inst, k));
    for (int parity = 0; footprint.partial_sums && parity < 2 && parity + 1 < inst.rect.w; ++parity) {
      plan_.of_instance[i].chain[parity] = footprint.sums_west ? chain_west(inst, parity) : chain(inst, parity);
    }
    for (int parity = 0; footprint.snake && parity < 2 && parity + 1 < inst.rect.w * inst.rect.h; ++parity)
      plan_.of_instance[i].chain[parity] = snake(inst, parity);
    if (footprint.sums_back && inst.rect.w > 1) plan_.of_instance[i].back = back(inst);
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

  // PEs in rows: each has a feeder for every operand that all its PEs listen to, and a collector to
  // which they send in turns, or the last one alone where partial sums pass along the row.
  void rows(const Instance& inst, const kernels::Footprint& footprint, InstanceFlows& flows) {
    const int senders = footprint.partial_sums ? 1 : inst.rect.w;
    for (int k = 0; k < inst.work.operands; ++k) {
      flows.scatter.push_back(add_flow(fmt::format("{} rows {}", inst.name, k)));
      for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
        auto& routers = flow(flows.scatter.back()).routers;
        const int feeder = inst.entry(k).x;
        routers[{y, feeder}] = fixed_route(bit(Port::ramp), bit(Port::east));
        for (int x = feeder + 1; x < inst.rect.x; ++x)
          routers[{y, x}] = fixed_route(bit(Port::west), bit(Port::east));
        for (int c = 0; c < inst.rect.w; ++c) {
          PortSet on = c + 1 < inst.rect.w ? bit(Port::east) : PortSet(0);
          routers[{y, inst.rect.x + c}] = fixed_route(bit(Port::west), PortSet(bit(Port::ramp) | on));
        }
      }
    }
    for (size_t turn = 0; turn < inst.gates(); ++turn) flows.gates.push_back(gate(inst, turn));
    for (size_t j = 0; j < inst.results.size(); ++j) {
      flows.gather.push_back(add_flow(fmt::format("{} results {}", inst.name, j)));
      Flow& f = flow(flows.gather.back());
      for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
        turns(f, {inst.rect.x + inst.rect.w - senders, y}, Port::east, senders);
        add_output(f.routers.at({y, inst.rect.x + inst.rect.w - 1}), Port::east);
        f.routers[{y, inst.rect.x + inst.rect.w}] = fixed_route(bit(Port::west), bit(Port::ramp));
      }
    }
  }

  // On each row from the feeder whose turn it was to the one whose turn it is; the collector comes behind the last one
  // and before the first one.
  int gate(const Instance& inst, size_t turn) {
    const int f = add_flow(fmt::format("{} gate {}", inst.name, turn));
    const auto column = [&](size_t k) {
      const size_t operands = inst.operand_turns.size();
      return k == operands ? inst.rect.x + inst.rect.w : inst.entry(inst.operand_turns[k % (operands + 1)]).x;
    };
    const int from = column(turn), to = column(turn + 1);
    const Port way = to > from ? Port::east : Port::west;
    for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y)
      for (int x = from;; x += to > from ? 1 : -1) {
        flow(f).routers[{y, x}] =
            fixed_route(bit(x == from ? Port::ramp : opposite(way)), bit(x == to ? Port::ramp : way));
        if (x == to) break;
      }
    return f;
  }

  // From a PE to the next one.
  static void hand_on(Flow& f, Coord from, Port way) {
    const Coord to = neighbour(from, way);
    f.routers[{from.y, from.x}] = fixed_route(bit(Port::ramp), bit(way));
    f.routers[{to.y, to.x}] = fixed_route(bit(opposite(way)), bit(Port::ramp));
  }

  int chain(const Instance& inst, int parity) {
    int f = add_flow(fmt::format("{} chain {}", inst.name, parity));
    for (int r = 0; r < inst.rect.h; ++r) {
      for (int c = parity; c + 1 < inst.rect.w; c += 2)
        hand_on(flow(f), {inst.rect.x + c, inst.rect.y + r}, Port::east);
    }
    return f;
  }

  // By parity of the PE that gives.
  int snake(const Instance& inst, int parity) {
    int f = add_flow(fmt::format("{} chain {}", inst.name, parity));
    for (int i = parity; i + 1 < inst.rect.w * inst.rect.h; i += 2) {
      const Coord from = kernels::snake_at(inst.rect, i), to = kernels::snake_at(inst.rect, i + 1);
      hand_on(flow(f), from, direction(from, to));
    }
    return f;
  }

  // By parity of the taking column.
  int chain_west(const Instance& inst, int parity) {
    int f = add_flow(fmt::format("{} chain {}", inst.name, parity));
    for (int r = 0; r < inst.rect.h; ++r) {
      for (int c = parity + 1; c < inst.rect.w; c += 2)
        hand_on(flow(f), {inst.rect.x + c, inst.rect.y + r}, Port::west);
    }
    return f;
  }

  // From the last column to the first one.
  int back(const Instance& inst) {
    int f = add_flow(fmt::format("{} back", inst.name));
    for (int r = 0; r < inst.rect.h; ++r) {
      for (int c = 0; c < inst.rect.w; ++c) {
        const bool first = c == 0, last = c + 1 == inst.rect.w;
        flow(f).routers[{inst.rect.y + r, inst.rect.x + c}] =
            fixed_route(bit(last ? Port::ramp : Port::east), bit(first ? Port::ramp : Port::west));
      }
    }
    return f;
  }

  const Parts& parts_;
  FlowPlan& plan_;
};

// What cores that listen to all words do not take, their routers reject: those of its feeders and then those
// of its rows, or those of its only row.
class Filters {
 public:
  Filters(const Parts& parts, FlowPlan& plan) : parts_(parts), plan_(plan) {}

  void run() {
    for (size_t s = 0; s < parts_.streams.size(); ++s) filters(parts_.streams[s], plan_.of_stream[s]);
  }

 private:
  Flow& flow(int f) { return plan_.flows[size_t(f)]; }
  void filters(const Stream& s, int f) {
    for (const Taker& t : s.takers) {
      if (t.instance < 0 || !parts_.instances[size_t(t.instance)].layout) continue;
      const Instance& inst = parts_.instances[size_t(t.instance)];
      const kernels::Layout& layout = *inst.layout;
      const size_t k = size_t(t.operand);
      Flow& row = inst.in_rows() ? flow(plan_.of_instance[size_t(t.instance)].scatter[k]) : flow(f);
      for (int y = 0; y < inst.rect.h; ++y) {
        if (inst.in_rows())
          filter(flow(f), {inst.entry(t.operand).x, inst.rect.y + y}, layout.filter(k, -1, y));
        for (int x = 0; x < inst.rect.w; ++x)
          filter(row, {inst.rect.x + x, inst.rect.y + y}, layout.filter(k, x, y));
      }
    }
  }
  static void filter(Flow& f, Coord at, const kernels::StreamFilter& filter) {
    if (!filter.used()) return;
    FilterConfig& c = f.routers.at({at.y, at.x}).filter;
    c.kind = FilterKind::counter;
    c.count_data = true;
    c.init_counter = uint16_t(filter.first);
    c.max_counter = uint16_t(filter.keep - 1);
    c.limit1 = uint16_t(filter.period - 1);
  }

  const Parts& parts_;
  FlowPlan& plan_;
};

}  // namespace

void set_turns(const Instance& inst, Flow& f) {
  const Rect senders = inst.senders();
  turns(f, {senders.x, senders.y}, inst.footprint().out.front().down ? Port::south : Port::east,
        senders.w * senders.h);
}

bool route_flows(const Parts& parts, const Extent& fabric, const Machine& machine, FlowPlan& plan,
                 Diag& diag) {
  plan = {};
  Inside(parts, plan).run();
  if (!route_streams(parts, fabric, machine, plan, diag)) return false;
  Filters(parts, plan).run();
  return true;
}

bool route_flows_in_colors(const Parts& parts, const Extent& fabric, const Machine& machine, InTheWay in_the_way,
                           FlowPlan& plan, Diag& diag) {
  plan = {};
  Inside(parts, plan).run();
  if (!color_flows(plan, machine, diag) ||
      !route_streams_in_colors(parts, fabric, machine, in_the_way, plan, diag))
    return false;
  Filters(parts, plan).run();
  return true;
}

}  // namespace cs::mapping

// From a Program to blocks, in steps:
//   1. blocks that hold a route or a tile are made; the others stay empty
//   2. every route run adds one color node to every PE of its rectangle; nodes are sorted by (PE, color)
//   3. every node gets one lane per input that some position accepts, plus one for a host input
//   4. every output of every node is resolved to a lane, a mirror of a lane beyond the border, or a host port
//   5. PEs with tasks that are active at cycle 0 are made

#include "simulator/engine/build.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>

#include "runtime/host/port_rates.h"

namespace cs::sim {
namespace {

template <class F>
void for_blocks(const Grid& grid, const Rect& r, F&& f) {
  if (r.w <= 0 || r.h <= 0) return;
  for (int row = r.y / grid.block_height; row <= (r.y + r.h - 1) / grid.block_height; ++row)
    for (int column = r.x / grid.block_width; column <= (r.x + r.w - 1) / grid.block_width; ++column)
      f(column, row);
}

template <class F>
void for_pes(const Rect& a, const Rect& b, F&& f) {
  for (int y = std::max(a.y, b.y); y < std::min(a.y + a.h, b.y + b.h); ++y)
    for (int x = std::max(a.x, b.x); x < std::min(a.x + a.w, b.x + b.w); ++x) f(Coord{x, y});
}

struct Builder {
  World& world;
  Grid& grid;
  Diag& diag;

  bool inside(const Rect& r) const {
    return r.x >= 0 && r.y >= 0 && r.w >= 0 && r.h >= 0 && r.x + r.w <= grid.width &&
           r.y + r.h <= grid.height;
  }

  bool make_blocks() {
    auto touch = [&](const Rect& r) {
      for_blocks(grid, r, [&](int column, int row) {
        auto& b = grid.blocks[size_t(row) * size_t(grid.columns) + size_t(column)];
        if (!b) b = std::make_unique<Block>(world, grid.rect_of(column, row));
      });
    };
    for (const RouteRun& run : world.program.routes) {
      if (!inside(run.rect)) diag.error({}, "a route run leaves the fabric");
      if (run.color >= world.machine.router.colors)
        diag.error({}, "a route run has color " + std::to_string(run.color) + ", there are " +
                           std::to_string(world.machine.router.colors));
    }
    for (const TileRect& t : world.program.rects) {
      if (!inside(t.rect)) diag.error({}, "a tile rectangle leaves the fabric");
      if (t.tile >= world.tiles.size()) diag.error({}, "a tile rectangle names a tile that is not there");
    }
    if (!diag.ok()) return false;
    for (const RouteRun& run : world.program.routes) touch(run.rect);
    for (const TileRect& t : world.program.rects) touch(t.rect);
    return true;
  }

  void place_tiles() {
    for (const TileRect& t : world.program.rects)
      for_blocks(grid, t.rect, [&](int column, int row) {
        Block& b = *grid.blocks[size_t(row) * size_t(grid.columns) + size_t(column)];
        for_pes(b.rect, t.rect, [&](Coord c) { b.tile_of[b.index_of(c)] = int32_t(t.tile); });
      });
    if (!world.program.host) return;
    const auto& constants = world.program.host->constants;
    for (size_t i = 0; i < constants.size(); ++i) {
      if (!inside(constants[i].rect)) continue;
      for_blocks(grid, constants[i].rect, [&](int column, int row) {
        Block* b = grid.blocks[size_t(row) * size_t(grid.columns) + size_t(column)].get();
        if (b) b->constants.push_back(uint32_t(i));
      });
    }
  }

  void make_nodes() {
    for (size_t i = 0; i < world.program.routes.size(); ++i) {
      const RouteRun& run = world.program.routes[i];
      for_blocks(grid, run.rect, [&](int column, int row) {
        Block& b = *grid.blocks[size_t(row) * size_t(grid.columns) + size_t(column)];
        for_pes(b.rect, run.rect, [&](Coord c) {
          ColorNode n;
          n.pe = b.index_of(c);
          n.color = run.color;
          n.config = uint32_t(i);
          n.position = run.config.current & 3;
          n.teardown = run.config.teardown;
          b.nodes.push_back(n);
        });
      });
    }
    for (auto& b : grid.blocks) {
      if (!b) continue;
      const auto by_place = [](const ColorNode& x, const ColorNode& y) {
        return x.pe != y.pe ? x.pe < y.pe : x.color < y.color;
      };
      std::stable_sort(b->nodes.begin(), b->nodes.end(), by_place);
      if (add_unrouted(*b)) std::stable_sort(b->nodes.begin(), b->nodes.end(), by_place);
      for (size_t i = 0; i < b->nodes.size(); ++i) {
        Router& r = b->routers[b->nodes[i].pe];
        if (r.nodes++ == 0) r.first_node = uint32_t(i);
      }
    }
  }

  // Colors without a route that a program gives one while it runs. True if there are any.
  bool add_unrouted(Block& b) const {
    const size_t before = b.nodes.size();
    for (uint32_t pe = 0; pe < b.tile_of.size(); ++pe) {
      if (b.tile_of[pe] < 0) continue;
      for (uint32_t rest = world.tiles[size_t(b.tile_of[pe])].reroutes; rest != 0; rest &= rest - 1) {
        ColorNode n;
        n.pe = pe;
        n.color = uint8_t(std::countr_zero(rest));
        const auto place = std::lower_bound(
            b.nodes.begin(), b.nodes.begin() + ptrdiff_t(before), n, [](const ColorNode& x, const ColorNode& y) {
              return x.pe != y.pe ? x.pe < y.pe : x.color < y.color;
            });
        if (place != b.nodes.begin() + ptrdiff_t(before) && place->pe == pe && place->color == n.color) continue;
        n.config = uint32_t(world.program.routes.size() + b.own_routes.size());
        b.own_routes.emplace_back();
        b.nodes.push_back(n);
      }
    }
    return b.nodes.size() != before;
  }

  void make_filters(Block& b) const {
    for (ColorNode& n : b.nodes) {
      const FilterConfig& f = b.config_of(n).filter;
      if (f.kind == FilterKind::none || b.filters.size() == 0xFFFF) continue;
      b.filters.push_back({f, f.init_counter, f.kind == FilterKind::sparse_counter && f.limit1 == 0});
      n.filter = uint16_t(b.filters.size());
    }
  }

  // The program of the PE may change this color's routes.
  bool reroutes(const Block& b, const ColorNode& n) const {
    return b.tile_of[n.pe] >= 0 && (world.tiles[size_t(b.tile_of[n.pe])].reroutes >> n.color & 1);
  }

  // The color that a wavelet of color `color` has in the router that it enters by a link.
  static int color_within(Block& b, uint32_t pe, int color, Port in) {
    const ColorNode* n = b.find_node(pe, color);
    if (n == nullptr) return color;
    const RouteConfig& c = b.config_of(*n);
    return color ^ int(in == Port::east || in == Port::west ? c.swap_x : c.swap_y);
  }

  PortSet inputs_of(Block& b, const ColorNode& n) const {
    if (reroutes(b, n)) return 31;
    const RouteConfig& config = b.config_of(n);
    PortSet in = 0;
    for (const SwitchPosition& p : config.positions)
      if (p.valid) in |= p.rx;
    // What a neighbour or the host sends here needs a lane too, even one that no position accepts.
    Coord at = b.coord_of(n.pe);
    for (int p = 0; p < 4; ++p) {
      Coord c = neighbour(at, Port(p));
      const Block* nb = grid.block_at(c);
      if (nb == nullptr) continue;
      for (int color : {int(n.color), n.color ^ 1}) {
        const ColorNode* other = nb->find_node(nb->index_of(c), color);
        if (other == nullptr || color_within(b, n.pe, color, Port(p)) != n.color) continue;
        if (outputs_of(*nb, *other) & port_bit(opposite(Port(p)))) in |= port_bit(Port(p));
      }
    }
    return in & 31;
  }

  // A streaming color, where its route turns back at the ramp.
  StreamEnd stream_end(const ColorNode& n) const {
    const PortSet ramp = port_bit(Port::ramp);
    for (const HostStream& s : world.program.streams)
      if (s.color == n.color && n.rx == ramp && n.tx == ramp)
        return s.input ? StreamEnd::from_host : StreamEnd::to_host;
    return StreamEnd::none;
  }

  void make_lanes(Block& b) {
    make_filters(b);
    const Machine& m = world.machine;
    int most = 1;
    for (int words : m.queues.output_words) most = std::max(most, words);
    int depth = m.router.lane_depth_wavelets;
    uint32_t ring = 0;
    for (size_t i = 0; i < b.nodes.size(); ++i) {
      ColorNode& n = b.nodes[i];
      const SwitchPosition& p = b.config_of(n).positions[n.position];
      n.rx = n.teardown ? 0 : p.rx & 31;
      n.tx = p.tx & 31;
      n.inputs = inputs_of(b, n);
      n.stream = stream_end(n);
      n.first_lane = uint32_t(b.lanes.size());
      for (PortSet rest = n.inputs; rest != 0; rest &= PortSet(rest - 1)) {
        Lane l;
        l.node = uint32_t(i);
        l.port = Port(std::countr_zero(rest));
        l.color = n.color;
        const bool fed_by_core = l.port == Port::ramp && n.stream != StreamEnd::from_host;
        l.capacity = uint8_t(std::min(255, fed_by_core ? depth + most : depth));
        if (l.capacity > Lane::kInline) {
          l.long_ring = ring;
          ring += l.capacity;
        }
        b.lanes.push_back(l);
      }
    }
    b.entries.assign(ring, 0);
    b.lane_wheel.grow(b.lanes.size());
  }

  // Resolves the outputs of a node and tells the lanes found who feeds them.
  void connect(Block& b, uint32_t node) {
    ColorNode& n = b.nodes[node];
    PortSet tx = outputs_of(b, n);
    for (int out = 0; out < 4; ++out) {
      if (!(tx & port_bit(Port(out)))) continue;
      Coord c = neighbour(b.coord_of(n.pe), Port(out));
      Block* nb = grid.block_at(c);
      if (nb == nullptr) continue;
      const int color = color_within(*nb, nb->index_of(c), n.color, opposite(Port(out)));
      const ColorNode* target = nb->find_node(nb->index_of(c), color);
      if (target == nullptr) continue;
      uint32_t lane = nb->lane_of(*target, opposite(Port(out)));
      if (lane == ~0u) continue;
      if (nb == &b) {
        n.down[size_t(out)] = make_ref(RefKind::lane, lane);
        b.lanes[lane].up = make_ref(RefKind::lane, node);
      } else {
        uint32_t mirror = uint32_t(b.mirrors.size());
        b.mirrors.push_back({lane, node, Port(out), 0, nb->lanes[lane].capacity, false});
        n.down[size_t(out)] = make_ref(RefKind::mirror, mirror);
        nb->lanes[lane].up = make_ref(RefKind::mirror, mirror);
      }
    }
  }

  // Outputs that only one lane of the router can ask for need no arbitration.
  void find_alone(Block& b) {
    for (const Router& r : b.routers) {
      std::array<int, kPorts> users{};
      for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i)
        for (int p = 0; p < kPorts; ++p)
          if (outputs_of(b, b.nodes[i]) >> p & 1) users[size_t(p)] += std::popcount(b.nodes[i].inputs);
      for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i) {
        b.nodes[i].alone = true;
        for (int p = 0; p < kPorts; ++p)
          if ((outputs_of(b, b.nodes[i]) >> p & 1) && users[size_t(p)] > 1) b.nodes[i].alone = false;
        if (b.nodes[i].alone) find_straight(b, b.nodes[i]);
      }
    }
  }

  // Lane::straight: most hops of most programs, and route() needs nothing but the lane for them.
  void find_straight(Block& b, const ColorNode& n) {
    const auto& positions = b.config_of(n).positions;
    auto valid =
        std::count_if(positions.begin(), positions.end(), [](const SwitchPosition& p) { return p.valid; });
    if (valid != 1 || n.teardown || reroutes(b, n) || n.rx != n.inputs || !std::has_single_bit(n.inputs)) return;
    if (!std::has_single_bit(n.tx) || n.tx == port_bit(Port::ramp)) return;
    const Ref ref = n.down[size_t(std::countr_zero(n.tx))];
    Lane& lane = b.lanes[n.first_lane];
    if (ref_kind(ref) != RefKind::lane || lane.capacity > Lane::kInline) return;
    if (b.lanes[ref_index(ref)].capacity > Lane::kInline) return;
    lane.flags |= Lane::straight;
    lane.next = ref_index(ref);
  }

  PortSet outputs_of(const Block& b, const ColorNode& n) const {
    if (reroutes(b, n)) return 31;
    PortSet tx = 0;
    for (const SwitchPosition& p : b.config_of(n).positions)
      if (p.valid) tx |= p.tx;
    return tx & 31;
  }

  bool make_ports(std::vector<PortHome>& homes) {
    homes.resize(world.program.ports.size());
    const std::vector<double> periods = port_periods(world.program, world.machine);
    std::map<std::tuple<Port, int, bool>, uint32_t> links;  // by side, position and direction
    for (size_t i = 0; i < homes.size(); ++i) {
      const HostPort& p = world.program.ports[i];
      Coord at = edge_of(world.program, p.side, p.position);
      Block* b = p.side == Port::ramp ? nullptr : grid.block_at(at);
      const int color = b && p.input ? color_within(*b, b->index_of(at), p.color, p.side) : p.color;
      ColorNode* n = b ? b->find_node(b->index_of(at), color) : nullptr;
      uint32_t lane = n ? b->lane_of(*n, p.side) : ~0u;
      if (n == nullptr || (p.input && lane == ~0u)) {
        diag.error(
            {},
            "host port '" + p.name + "' has no route of color " + std::to_string(p.color) +
                " at its edge router (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ")",
            p.input ? "let the router accept the color from that side" : "route the color off that side");
        continue;
      }
      PortState state;
      state.program_port = int(i);
      state.input = p.input;
      const auto [link, fresh] = links.emplace(std::tuple{p.side, p.position, p.input}, uint32_t(b->links.size()));
      if (fresh) b->links.push_back({periods[i]});
      state.link = link->second;
      uint32_t index = uint32_t(b->ports.size());
      if (p.input) {
        state.lane = lane;
        b->lanes[lane].up = make_ref(RefKind::port, index);
      } else {
        state.lane = uint32_t(n - b->nodes.data());
        n->down[size_t(p.side)] = make_ref(RefKind::port, index);
      }
      b->ports.push_back(std::move(state));
      homes[i] = {b, index};
    }
    return diag.ok();
  }

  void start_tasks() {
    Cycle start = Cycle(world.machine.core.task_start_cycles);
    for (const auto& b : grid.own()) {
      if (!b) continue;
      for (uint32_t i = 0; i < b->pes.size(); ++i) {
        if (b->tile_of[i] < 0) continue;
        const TileImage& tile = world.tiles[size_t(b->tile_of[i])];
        if (tile.activated == 0) continue;
        Pe& p = b->pe(i);
        p.activated = tile.activated;
        for (Cycle& c : p.ready_at) c = start;
        p.why = int8_t(Stall::dispatch);
        b->wake(p, start);
      }
    }
  }
};

}  // namespace

Rect Grid::rect_of(int column, int row) const {
  Rect r{column * block_width, row * block_height, block_width, block_height};
  r.w = std::min(r.w, width - r.x);
  r.h = std::min(r.h, height - r.y);
  return r;
}

bool build_grid(World& world, Grid& grid, std::vector<PortHome>& homes, Diag& diag) {
  grid.columns = (grid.width + grid.block_width - 1) / grid.block_width;
  grid.rows = (grid.height + grid.block_height - 1) / grid.block_height;
  if (grid.end_row == 0) grid.end_row = grid.rows;
  grid.blocks.resize(size_t(grid.columns) * size_t(grid.rows));
  Builder builder{world, grid, diag};
  if (!builder.make_blocks()) return false;
  builder.place_tiles();
  builder.make_nodes();
  for (auto& b : grid.blocks)
    if (b) builder.make_lanes(*b);
  for (auto& b : grid.blocks) {
    if (!b) continue;
    for (uint32_t i = 0; i < b->nodes.size(); ++i) builder.connect(*b, i);
    builder.find_alone(*b);
  }
  if (!builder.make_ports(homes)) return false;
  builder.start_tasks();
  return true;
}

}  // namespace cs::sim

// verify(): everything that a consumer of a Program relies on, reported with names and numbers.
//
// 1. Head: architecture, fabric and user rectangle against the machine.
// 2. Rectangles: inside the fabric, tile exists, disjoint.
// 3. Routes: inside, disjoint per color, legal for the machine; no link leads off the fabric unless a port is there.
// 4. Ports and exports. 5. Every tile program (verify_tile.cpp). 6. The host part (verify_host.cpp).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "runtime/program/names.h"
#include "runtime/program/verify_parts.h"

namespace cs {
namespace {

std::string rect_name(const Rect& r) { return fmt::format("[{}, {}, {}, {}]", r.x, r.y, r.w, r.h); }

bool has(const std::vector<int>& list, int id) { return std::find(list.begin(), list.end(), id) != list.end(); }

// False if nothing below may be indexed.
bool verify_head(const Verifier& v) {
  const Program& p = v.program;
  const Machine& m = v.machine;
  if (p.arch != m.arch) {
    v.error("machine", fmt::format("the program is for {}, the machine is {}", arch_name(p.arch), arch_name(m.arch)));
  }
  if (p.fabric_width < 1 || p.fabric_height < 1 || p.fabric_width > m.fabric.width ||
      p.fabric_height > m.fabric.height) {
    v.error("fabric", fmt::format("needs {} x {} PEs, machine {} has {} x {}", p.fabric_width, p.fabric_height, m.name,
                                  m.fabric.width, m.fabric.height),
            "use a smaller rectangle, or a machine with a larger fabric");
    return false;
  }
  if (!inside(p.user, p.fabric_width, p.fabric_height)) {
    v.error("user rectangle", fmt::format("{} is not inside the fabric of {} x {} PEs", rect_name(p.user),
                                          p.fabric_width, p.fabric_height));
  }
  return true;
}

void verify_rects(const Verifier& v) {
  const Program& p = v.program;
  PeSet taken(p.fabric_width, p.fabric_height);
  for (const TileRect& r : p.rects) {
    if (!inside(r.rect, p.fabric_width, p.fabric_height)) {
      v.error("tile rectangle " + rect_name(r.rect),
              fmt::format("is not inside the fabric of {} x {} PEs", p.fabric_width, p.fabric_height));
      continue;
    }
    if (r.tile >= p.tiles.size()) {
      v.error("tile rectangle " + rect_name(r.rect),
              fmt::format("uses tile program {}, there are {}", r.tile, p.tiles.size()));
    }
    if (Coord at; !taken.add(r.rect, at)) {
      v.error("tile rectangle " + rect_name(r.rect), fmt::format("PE ({}, {}) has two tile programs", at.x, at.y));
    }
  }
}

std::string name_of(const RouteRun& r) { return fmt::format("route of color {} at {}", r.color, rect_name(r.rect)); }

void verify_positions(const Verifier& v, const RouteRun& r) {
  const Machine& m = v.machine;
  const auto& pos = r.config.positions;
  if (!pos[0].valid) v.error(name_of(r), "the first switch position must be valid: it is the route");
  if (r.config.current > 3 || !pos[r.config.current & 3].valid) {
    v.error(name_of(r), fmt::format("the current switch position is {}, which is not valid", r.config.current));
  }
  bool switches = false;
  size_t before = 0;
  for (size_t i = 0; i < pos.size(); ++i) {
    const SwitchPosition& s = pos[i];
    if (!s.valid) continue;
    if ((s.rx | s.tx) >> kPorts) v.error(name_of(r), fmt::format("switch position {} names a sixth port", i));
    if (m.router.single_rx && (s.rx & (s.rx - 1)) != 0) {
      v.error(name_of(r), fmt::format("switch position {} ({}) has several inputs, {} allows one", i,
                                 switch_position_text(s), m.name));
    }
    if (i == 0) continue;
    switches = true;
    if (int(i) >= m.router.switch_positions) {
      v.error(name_of(r), fmt::format("switch position {} is used, there are {}", i, m.router.switch_positions));
    }
    const SwitchPosition& last = pos[std::exchange(before, i)];
    if (!m.router.switch_sets_rx_and_tx && s.rx != last.rx && s.tx != last.tx) {
      v.error(name_of(r), fmt::format("switch position {} ({}) changes inputs and outputs, {} can change one of them",
                                      i, switch_position_text(s), m.name));
    }
  }
  if (switches && !has(m.router.switchable_colors, r.color)) {
    v.error(name_of(r), fmt::format("color {} cannot switch on {}; the colors that can are {}", r.color, m.name,
                               fmt::join(m.router.switchable_colors, ", ")));
  }
}

using PortKey = std::tuple<int, int, int, bool>;  // side, position, color, input
std::set<PortKey> port_keys(const Program& p) {
  std::set<PortKey> keys;
  for (const HostPort& h : p.ports) keys.insert({int(h.side), h.position, h.color, h.input});
  return keys;
}

// Every PE of the run on the edge `side` needs a host port that takes what leaves there.
void verify_edge(const Verifier& v, const RouteRun& r, Port side, const std::set<PortKey>& ports) {
  const Program& p = v.program;
  const bool along_y = side == Port::east || side == Port::west;
  const bool touches = side == Port::east    ? r.rect.right() == p.fabric_width
                       : side == Port::west  ? r.rect.x == 0
                       : side == Port::south ? r.rect.bottom() == p.fabric_height
                                             : r.rect.y == 0;
  PortSet tx = 0;
  for (const SwitchPosition& s : r.config.positions) tx |= s.valid ? s.tx : PortSet(0);
  if (!touches || !(tx & port_bit(side))) return;
  const int first = along_y ? r.rect.y : r.rect.x, count = along_y ? r.rect.h : r.rect.w;
  for (int i = first; i < first + count; ++i) {
    if (ports.contains({int(side), i, r.color, false})) continue;
    v.error(name_of(r), fmt::format("leaves the fabric to the {} at {} {}, where no host port takes it",
                                    port_name(side), along_y ? "row" : "column", i),
            "end the route at the edge, or declare an output port there");
    return;
  }
}

void verify_routes(const Verifier& v) {
  const Program& p = v.program;
  const auto ports = port_keys(p);
  std::map<int, PeSet> taken;
  for (const RouteRun& r : p.routes) {
    if (v.diag.full()) return;
    if (r.color >= v.machine.router.colors) {
      v.error(name_of(r), fmt::format("there are {} colors", v.machine.router.colors));
      continue;
    }
    if (!inside(r.rect, p.fabric_width, p.fabric_height)) {
      v.error(name_of(r), fmt::format("is not inside the fabric of {} x {} PEs", p.fabric_width, p.fabric_height));
      continue;
    }
    auto [it, added] = taken.try_emplace(r.color, p.fabric_width, p.fabric_height);
    if (Coord at; !it->second.add(r.rect, at)) {
      v.error(name_of(r), fmt::format("PE ({}, {}) has two routes of this color", at.x, at.y));
    }
    if (p.memcpy && has(v.machine.memcpy.colors, r.color)) {
      v.error(name_of(r), fmt::format("memcpy uses the colors {}", fmt::join(v.machine.memcpy.colors, ", ")));
    }
    verify_positions(v, r);
    for (const Port side : {Port::east, Port::west, Port::south, Port::north}) verify_edge(v, r, side, ports);
  }
}

// The router at a port must take what enters there, or send out what should leave.
bool route_serves(const Program& p, const HostPort& h, Coord pe) {
  for (const RouteRun& r : p.routes) {
    if (r.color != h.color || !r.rect.contains(pe)) continue;
    for (const SwitchPosition& s : r.config.positions) {
      if (s.valid && ((h.input ? s.rx : s.tx) & port_bit(h.side))) return true;
    }
  }
  return false;
}

void verify_ports(const Verifier& v) {
  const Program& p = v.program;
  std::set<std::string> seen;
  std::set<PortKey> keys;
  std::set<std::tuple<int, int, bool>> places;  // streams that cross at one place in one direction share a port
  std::map<int, int> per_side;
  for (const HostPort& h : p.ports) {
    const std::string where = fmt::format("port '{}'", h.name);
    if (h.name.empty() || !seen.insert(h.name).second) v.error(where, "port names must be unique and not empty");
    if (h.side == Port::ramp || h.color >= v.machine.router.colors) {
      v.error(where, fmt::format("is on the {} with color {}; ports are on the four edges, there are {} colors",
                                 port_name(h.side), h.color, v.machine.router.colors));
      continue;
    }
    const bool along_y = h.side == Port::east || h.side == Port::west;
    const int limit = along_y ? p.fabric_height : p.fabric_width;
    if (h.position < 0 || h.position >= limit) {
      v.error(where, fmt::format("is at {} {}, there are {}", along_y ? "row" : "column", h.position, limit));
      continue;
    }
    if (!keys.insert({int(h.side), h.position, h.color, h.input}).second) {
      v.error(where, "another port has the same edge, position, color and direction");
    }
    const Coord pe{h.side == Port::east ? p.fabric_width - 1 : along_y ? 0 : h.position,
                   h.side == Port::south ? p.fabric_height - 1 : along_y ? h.position : 0};
    if (!route_serves(p, h, pe)) {
      v.error(where, fmt::format("no route of color {} at PE ({}, {}) {} the {}", h.color, pe.x, pe.y,
                                 h.input ? "takes input from" : "sends to", port_name(h.side)));
    }
    per_side[int(h.side)] += places.insert({int(h.side), h.position, h.input}).second ? 1 : 0;
  }
  for (const auto& [side, count] : per_side) {
    if (count > v.machine.host.host_ports) {
      v.error(fmt::format("{} edge", port_name(Port(side))),
              fmt::format("needs {} host ports, machine {} has {}", count, v.machine.name, v.machine.host.host_ports));
    }
  }
}

void verify_streams(const Verifier& v) {
  std::set<int> colors;
  for (const HostStream& s : v.program.streams) {
    const std::string where = fmt::format("host stream on color {}", s.color);
    if (!v.program.memcpy) v.error(where, "the program does not import <memcpy>");
    if (s.color >= v.machine.router.colors || has(v.machine.memcpy.colors, s.color))
      v.error(where, fmt::format("there are {} colors, of which memcpy itself uses {}", v.machine.router.colors,
                                 fmt::join(v.machine.memcpy.colors, ", ")));
    if (!colors.insert(s.color).second) v.error(where, "two streams share this color");
  }
}

void verify_exports(const Verifier& v) {
  std::set<std::string> seen;
  for (const ExportedName& e : v.program.exports) {
    const std::string where = fmt::format("export '{}'", e.name);
    if (e.name.empty() || !seen.insert(e.name).second) v.error(where, "exported names must be unique and not empty");
    bool found = false;
    for (const TileProgram& t : v.program.tiles) {
      const Symbol* symbol = e.is_function ? nullptr : t.symbol(e.name);
      found = found || symbol != nullptr || (e.is_function && t.function(e.name) != nullptr);
      if (symbol != nullptr && symbol->type != e.type) {
        v.error(where, fmt::format("is exported as {}, but tile program '{}' has it as {}", data_type_name(e.type),
                                   t.name, data_type_name(symbol->type)));
      }
    }
    // A function may be announced that no program has: whoever launches it is told.
    if (!found && !e.is_function)
      v.error(where, "no tile program exports a variable of this name", "use @export_symbol in the PE program");
  }
}

}  // namespace

bool verify(const Program& p, const Machine& m, Diag& diag) {
  const Verifier v{p, m, diag, diag.errors()};
  if (!verify_head(v)) return false;
  verify_rects(v);
  verify_routes(v);
  verify_ports(v);
  verify_streams(v);
  verify_exports(v);
  for (size_t i = 0; i < p.tiles.size() && !diag.full(); ++i) verify_tile(v, p.tiles[i], i);
  if (p.host) verify_host(v);
  return v.ok();
}

}  // namespace cs

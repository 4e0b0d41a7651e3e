// Router configurations: from the structures of @set_color_config to RouteConfig, and from PEs to rectangles.
#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/layout_result.h"

namespace cs::csl {
namespace {

// One direction, or a list of them.
bool read_ports(Evaluator& e, const Value& v, SourceLoc where, PortSet& out) {
  const auto one = [&](const Value& d) {
    if (!d.ok()) return false;
    if (!d.is(ValueKind::integer) || d.type->kind != TypeKind::direction) {
      e.fail(where, fmt::format("a direction is needed here, this is '{}'", d.type->name),
             "EAST, WEST, SOUTH, NORTH or RAMP");
      return false;
    }
    out |= port_bit(Port(int(d.i)));
    return true;
  };
  if (!v.is(ValueKind::aggregate)) return one(v);
  for (uint64_t i = 0; i < item_count(v); ++i)
    if (!one(item(v, i))) return false;
  return true;
}

bool single(PortSet p) { return p && !(p & (p - 1)); }

// Directions as bits, as <directions> gives them: outputs in bits 0-4, inputs in bits 5-9, in the order of Port.
bool read_bits(Evaluator& e, const Value& v, SourceLoc where, PortSet& rx, PortSet& tx) {
  if (v.i < 0 || v.i >= 1 << 10) {
    e.fail(where, fmt::format("{} is no set of directions", print_int(v.i)), "the constants of <directions> are bits");
    return false;
  }
  rx = PortSet(int(v.i) >> 5 & 31);
  tx = PortSet(int(v.i) & 31);
  return true;
}

bool is_bits(const Value& v) { return v.is(ValueKind::integer) && v.type->is_int(); }

bool read_position(Evaluator& e, const Value& v, SourceLoc where, const SwitchPosition& base, SwitchPosition& out) {
  PortSet rx_given = 0, tx_given = 0;
  if (is_bits(v)) {
    if (v.i == 0) return true;
    if (!read_bits(e, v, where, rx_given, tx_given)) return false;
  } else {
    ConfigFields f(e, v, where);
    const Value *rx = f.find("rx"), *tx = f.find("tx");
    const bool invalid = f.flag("invalid");
    if (!f.finish()) return false;
    if (invalid) return true;
    if ((rx && !read_ports(e, *rx, where, rx_given)) || (tx && !read_ports(e, *tx, where, tx_given))) return false;
  }
  out = base;
  out.valid = true;
  if (rx_given) out.rx = rx_given;
  if (tx_given) out.tx = tx_given;
  if (rx_given && tx_given && !e.machine().router.switch_sets_rx_and_tx) {
    e.fail(where, fmt::format("a switch position of {} sets rx or tx, not both", e.machine().name));
    return false;
  }
  return true;
}

constexpr const char* kPositions[] = {"", "pos1", "pos2", "pos3"};

// The fields of `switches`; they may also stand beside the routes.
bool read_switches(Evaluator& e, ConfigFields& f, RouteConfig& out) {
  // A position changes what it names and keeps the rest of the valid position before it.
  for (size_t k = 1, before = 0; k < 4; ++k) {
    const Value* p = f.find(kPositions[k]);
    if (!p) continue;
    if (!p->ok() || !read_position(e, *p, f.where(), out.positions[before], out.positions[k])) return false;
    if (out.positions[k].valid) before = k;
  }
  int64_t current = 0;
  if (f.number("current_switch_pos", 0, 3, current)) out.current = uint8_t(current);
  out.ring_mode |= f.flag("ring_mode");
  constexpr PopMode kModes[] = {PopMode::no_pop, PopMode::no_pop, PopMode::always_pop, PopMode::pop_on_advance,
                                PopMode::pop_on_advance_nop};
  if (const int mode = f.choice("pop_mode", {"no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop"}))
    out.pop_mode = kModes[mode];
  if (out.positions[out.current].valid) return true;
  e.fail(f.where(),
         fmt::format("current_switch_pos is {}, but position {} is not given", out.current, out.current));
  return false;
}

bool read_filter(Evaluator& e, const Value& v, SourceLoc where, FilterConfig& out) {
  ConfigFields f(e, v, where);
  out.kind = FilterKind(f.choice("kind", {"counter", "sparse_counter", "range"}));
  if (out.kind == FilterKind::none) {
    e.fail(where, "a filter needs its kind", ".kind = .{ .counter = true }, sparse_counter or range");
    return false;
  }
  const auto read = [&](const char* name, uint16_t& field) {
    int64_t n = 0;
    if (f.number(name, 0, UINT16_MAX, n)) field = uint16_t(n);
  };
  if (out.kind == FilterKind::range) {
    read("min_idx", out.min_index);
    read("max_idx", out.max_index);
    return f.finish();
  }
  f.flag("fast_mode");  // public programs give it; no page says what it changes
  out.count_data = f.flag("count_data");
  out.count_control = f.flag("count_control");
  read("init_counter", out.init_counter);
  read("max_counter", out.max_counter);
  read("limit1", out.limit1);
  if (out.kind == FilterKind::counter)
    out.filter_control = f.flag("filter_control");
  else
    read("limit2", out.limit2);
  return f.finish();
}

// `routes`, or rx and tx beside the other fields.
bool read_routes(Evaluator& e, ConfigFields& r, RouteConfig& out) {
  const Value *rx = r.required("rx"), *tx = r.required("tx");
  out.swap_x |= r.flag("color_swap_x");
  out.swap_y |= r.flag("color_swap_y");
  if (!rx || !tx || !rx->ok() || !tx->ok()) return false;
  SwitchPosition& p = out.positions[0];
  return read_ports(e, *rx, r.where(), p.rx) && read_ports(e, *tx, r.where(), p.tx);
}

bool read_all_routes(Evaluator& e, ConfigFields& f, RouteConfig& out) {
  SwitchPosition& p = out.positions[0];
  p.valid = true;
  const Value* routes = f.find("routes");
  if (!routes && !f.find("rx") && !f.find("tx")) routes = f.required("routes");
  if (!routes) return f.good() && read_routes(e, f, out);
  if (!routes->ok()) return false;
  if (is_bits(*routes)) return read_bits(e, *routes, f.where(), p.rx, p.tx);
  ConfigFields r(e, *routes, f.where());
  return read_routes(e, r, out) && r.finish();
}

}  // namespace

bool read_route(Evaluator& e, const Value& config, SourceLoc where, RouteConfig& out) {
  ConfigFields f(e, config, where);
  if (!read_all_routes(e, f, out)) return false;
  out.teardown = f.flag("teardown");
  out.swap_x |= f.flag("color_swap_x");
  out.swap_y |= f.flag("color_swap_y");
  if ((out.swap_x || out.swap_y) && e.wse3()) {
    e.fail(where, fmt::format("colors cannot be swapped on {}", e.machine().name));
    return false;
  }
  if (const Value* filter = f.find("filter"); filter && filter->ok())
    if (!read_filter(e, *filter, where, out.filter)) return false;
  const PortSet rx = out.positions[0].rx;
  if (e.machine().router.single_rx && !single(rx) && rx) {
    e.fail(where, fmt::format("a color of {} has one rx direction, here are several", e.machine().name));
    return false;
  }
  if (const Value* switches = f.find("switches"); switches && switches->ok()) {
    ConfigFields s(e, *switches, where);
    if (!read_switches(e, s, out) || !s.finish()) return false;
  } else if (!read_switches(e, f, out)) {
    return false;
  }
  return f.finish();
}

// Runs of equal values in a row, joined with runs of the same columns in the row above.
std::vector<RouteRun> merge_routes(const LayoutState& s, std::vector<SourceLoc>& locs) {
  std::vector<RouteRun> out;
  struct Run {
    int x, w;
    uint32_t config;
    size_t index;
  };
  for (size_t color = 0; color < s.config_of_pe.size(); ++color) {
    const std::vector<uint32_t>& of_pe = s.config_of_pe[color];
    if (of_pe.empty()) continue;
    std::vector<Run> above;
    for (int y = 0; y < s.height; ++y) {
      std::vector<Run> runs;
      size_t candidate = 0;
      for (int x = 0; x < s.width;) {
        const uint32_t config = of_pe[size_t(y) * size_t(s.width) + size_t(x)];
        int end = x + 1;
        while (end < s.width && of_pe[size_t(y) * size_t(s.width) + size_t(end)] == config) ++end;
        if (config != ~0u) {
          while (candidate < above.size() && above[candidate].x < x) ++candidate;
          const bool joins = candidate < above.size() && above[candidate].x == x &&
                             above[candidate].w == end - x && above[candidate].config == config;
          if (joins) {
            ++out[above[candidate].index].rect.h;
          } else {
            out.push_back({.rect = {x, y, end - x, 1}, .color = uint8_t(color), .config = s.configs[config]});
            locs.push_back(s.config_locs[config]);
          }
          runs.push_back({x, end - x, config, joins ? above[candidate].index : out.size() - 1});
        }
        x = end;
      }
      above = std::move(runs);
    }
  }
  return out;
}

}  // namespace cs::csl

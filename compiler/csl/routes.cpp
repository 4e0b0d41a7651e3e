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

bool read_position(Evaluator& e, const Value& v, SourceLoc where, const SwitchPosition& base,
                   SwitchPosition& out) {
  ConfigFields f(e, v, where);
  const Value *rx = f.find("rx"), *tx = f.find("tx"), *invalid = f.find("invalid");
  if (!f.finish()) return false;
  if (invalid && invalid->is(ValueKind::integer) && invalid->truth()) return true;
  out = base;
  out.valid = true;
  if (rx) out.rx = 0;
  if (tx) out.tx = 0;
  if ((rx && !read_ports(e, *rx, where, out.rx)) || (tx && !read_ports(e, *tx, where, out.tx))) return false;
  if (rx && tx && !e.machine().router.switch_sets_rx_and_tx) {
    e.fail(where, fmt::format("a switch position of {} sets rx or tx, not both", e.machine().name));
    return false;
  }
  return true;
}

bool read_switches(Evaluator& e, const Value& v, SourceLoc where, RouteConfig& out) {
  ConfigFields f(e, v, where);
  constexpr std::string_view kNames[] = {"", "pos1", "pos2", "pos3"};
  // A position changes what it names and keeps the rest of the valid position before it.
  for (size_t k = 1, before = 0; k < 4; ++k) {
    const Value* p = f.find(kNames[k]);
    if (!p) continue;
    if (!read_position(e, *p, where, out.positions[before], out.positions[k])) return false;
    if (out.positions[k].valid) before = k;
  }
  int64_t current = 0;
  if (f.number("current_switch_pos", 0, 3, current)) out.current = uint8_t(current);
  out.ring_mode = f.flag("ring_mode");
  if (const Value* pop = f.find("pop_mode")) {
    ConfigFields modes(e, *pop, where);
    if (modes.flag("always_pop")) out.pop_mode = PopMode::always_pop;
    if (modes.flag("pop_on_advance")) out.pop_mode = PopMode::pop_on_advance;
    if (modes.flag("pop_on_advance_nop")) out.pop_mode = PopMode::pop_on_advance_nop;
    modes.flag("no_pop");
    if (!modes.finish()) return false;
  }
  if (!f.finish()) return false;
  if (!out.positions[out.current].valid) {
    e.fail(where,
           fmt::format("current_switch_pos is {}, but position {} is not given", out.current, out.current));
    return false;
  }
  return true;
}

}  // namespace

bool read_route(Evaluator& e, const Value& config, SourceLoc where, RouteConfig& out) {
  ConfigFields f(e, config, where);
  const Value *routes = f.required("routes"), *switches = f.find("switches");
  out.teardown = f.flag("teardown");
  for (const char* later : {"filter", "color_swap_x", "color_swap_y"})
    if (f.find(later)) {
      e.fail(where, fmt::format("'{}' is not supported yet", later));
      return false;
    }
  if (!f.finish() || !routes) return false;
  ConfigFields r(e, *routes, where);
  const Value *rx = r.required("rx"), *tx = r.required("tx");
  if (!r.finish() || !rx || !tx) return false;
  SwitchPosition& p = out.positions[0];
  p.valid = true;
  if (!read_ports(e, *rx, where, p.rx) || !read_ports(e, *tx, where, p.tx)) return false;
  if (e.machine().router.single_rx && !single(p.rx) && p.rx) {
    e.fail(where, fmt::format("a color of {} has one rx direction, here are several", e.machine().name));
    return false;
  }
  return !switches || read_switches(e, *switches, where, out);
}

// Runs of equal values in a row, joined with runs of the same columns in the row above.
std::vector<RouteRun> merge_routes(const LayoutState& s) {
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
          if (joins)
            ++out[above[candidate].index].rect.h;
          else
            out.push_back({.rect = {x, y, end - x, 1}, .color = uint8_t(color), .config = s.configs[config]});
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

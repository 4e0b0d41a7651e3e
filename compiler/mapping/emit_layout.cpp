// Text of layout.csl.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

const char* direction_name(Port p) {
  switch (p) {
    case Port::east:
      return "EAST";
    case Port::west:
      return "WEST";
    case Port::south:
      return "SOUTH";
    case Port::north:
      return "NORTH";
    case Port::ramp:
      return "RAMP";
  }
  return "";
}

std::string port_list(PortSet set) {
  std::string out;
  for (int p = 0; p < kPorts; ++p) {
    if ((set & port_bit(Port(p))) != 0)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", direction_name(Port(p)));
  }
  return out;
}

// Positions beyond the first change one side only, to one direction: what every architecture can do.
std::string config_text(const RouteConfig& c) {
  std::string out = fmt::format(".{{ .routes = .{{ .rx = .{{ {} }}, .tx = .{{ {} }} }}",
                                port_list(c.positions[0].rx), port_list(c.positions[0].tx));
  if (c.positions[1].valid) {
    bool rx = c.positions[1].rx != c.positions[0].rx;
    out += fmt::format(", .switches = .{{ .pos1 = .{{ .{} = {} }}", rx ? "rx" : "tx",
                       port_list(rx ? c.positions[1].rx : c.positions[1].tx));
    if (c.pop_mode == PopMode::pop_on_advance) out += ", .pop_mode = .{ .pop_on_advance = true }";
    out += " }";
  }
  if (c.filter.kind == FilterKind::counter) {
    out += fmt::format(
        ", .filter = .{{ .kind = .{{ .counter = true }}, .count_data = true, .init_counter = {}, "
        ".max_counter = {}, "
        ".limit1 = {} }}",
        c.filter.init_counter, c.filter.max_counter, c.filter.limit1);
  }
  return out + " }";
}

std::string loops(const Run& r, const std::string& call) {
  // call contains {x} and {y}
  bool many_x = r.count > 1, many_y = r.h > 1;
  std::string text = call;
  auto put = [&](const std::string& what, const std::string& with) {
    size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), with);
  };
  put("{x}", many_x ? "x" : std::to_string(r.x));
  put("{y}", many_y ? "y" : std::to_string(r.y));
  if (many_x) {
    text = fmt::format("for (@range(i16, {}, {}, {})) |x| {{ {} }}", r.x, r.x + (r.count - 1) * r.step + 1,
                       r.step, text);
  }
  if (many_y) text = fmt::format("for (@range(i16, {}, {}, 1)) |y| {{ {} }}", r.y, r.y + r.h, text);
  return "  " + text + "\n";
}

std::string flow_text(const Flow& f) {
  std::map<std::string, std::vector<RouterKey>> by_config;
  for (const auto& [key, config] : f.routers) by_config[config_text(config)].push_back(key);
  std::vector<std::pair<Run, std::string>> lines;
  for (const auto& [config, pes] : by_config) {
    for (const Run& run : runs_of(pes)) lines.emplace_back(run, config);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.y, a.first.x) < std::pair(b.first.y, b.first.x);
  });
  std::string out = fmt::format("\n  // {}\n", f.name);
  for (const auto& [run, config] : lines) {
    out += loops(run, fmt::format("@set_color_config({{x}}, {{y}}, @get_color({}), {});", f.color, config));
  }
  return out;
}

}  // namespace

std::vector<Run> runs_of(const std::vector<RouterKey>& pes) {
  std::map<int, std::vector<int>> rows;
  for (const RouterKey& k : pes) rows[k.y].push_back(k.x);
  std::vector<Run> open, done;
  for (auto& [y, xs] : rows) {
    std::vector<Run> here;
    for (size_t i = 0; i < xs.size();) {
      int step = i + 1 < xs.size() && xs[i + 1] - xs[i] <= 2 ? xs[i + 1] - xs[i] : 1;
      size_t j = i + 1;
      while (j < xs.size() && xs[j] - xs[j - 1] == step) ++j;
      here.push_back({xs[i], y, int(j - i), step, 1});
      i = j;
    }
    // A run of the row above with the same columns grows by one row.
    std::vector<Run> next;
    for (Run run : here) {
      for (Run& above : open) {
        bool same = above.x == run.x && above.count == run.count && above.step == run.step && above.h > 0;
        if (same && above.y + above.h == y) {
          run.y = above.y;
          run.h = above.h + 1;
          above.h = 0;
          break;
        }
      }
      next.push_back(run);
    }
    for (const Run& run : open) {
      if (run.h > 0) done.push_back(run);
    }
    open = next;
  }
  done.insert(done.end(), open.begin(), open.end());
  std::sort(done.begin(), done.end(),
            [](const Run& a, const Run& b) { return std::pair(a.y, a.x) < std::pair(b.y, b.x); });
  return done;
}

// The names that the host may use, each once with its type.
static std::string export_text(const Parts& parts, const SharedRoles& shared) {
  std::set<std::string> known;
  std::string out;
  const auto add = [&](const std::string& symbol, const char* type) {
    const std::string& name = shared.exported(symbol);
    if (known.insert(name).second) out += fmt::format("  @export_name(\"{}\", [*]{}, true);\n", name, type);
  };
  for (const Instance& inst : parts.instances) {
    if (inst.region)
      for (const std::string& symbol : region_symbols(inst)) add(inst.name + "_" + symbol, "i32");
    for (size_t k = 0; k < inst.constants.size(); ++k) {
      const PackedConstant& c = inst.constants[k];
      // Of a region's constant, the parts of no PE may need anything.
      const std::vector<RegionPe>& pes = inst.layout.pes;
      if (inst.region &&
          std::all_of(pes.begin(), pes.end(), [&](const RegionPe& p) { return p.constants[k].empty(); }))
        continue;
      add(inst.name + "_" + c.name, c.integer ? "i32" : "f32");
    }
  }
  return out;
}

std::string layout_text(const std::string& model, const Extent& fabric, const SharedRoles& shared,
                        const FlowPlan& plan, const Parts& parts) {
  std::string out = fmt::format(
      "// layout.csl: {}, placed on {} x {} PEs.\n//\n// Which PE runs which file, and what every router "
      "does with "
      "every color.\n\nlayout {{\n  @set_rectangle({}, {});\n\n",
      model, fabric.width, fabric.height, fabric.width, fabric.height);
  for (const Role& role : shared.roles()) {
    for (const Run& run : role.runs) {
      out += loops(run, fmt::format("@set_tile_code({{x}}, {{y}}, \"{}.csl\", .{{}});", role.name));
    }
  }
  for (const Flow& f : plan.flows) out += flow_text(f);
  const std::string names = export_text(parts, shared);
  if (!names.empty()) out += "\n" + names;
  return out + "}\n";
}

}  // namespace cs::mapping

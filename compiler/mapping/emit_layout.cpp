// Text of layout.csl.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "compiler/mapping/counter_runs.h"
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

// Positions beyond the first change one side only, to one direction: what every architecture can do. Where
// the counter of a filter begins is {counter}.
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
        ", .filter = .{{ .kind = .{{ .counter = true }}, .count_data = true, .init_counter = {{counter}}, "
        ".max_counter = {}, .limit1 = {} }}",
        c.filter.max_counter, c.filter.limit1);
  }
  return out + " }";
}

std::string with(std::string text, const std::string& what, const std::string& value) {
  const size_t at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), value);
}

// `call` has {x} and {y}.
std::string loops(const Run& r, const std::string& call) {
  const bool many_x = r.count > 1, many_y = r.h > 1;
  std::string text = with(call, "{x}", many_x ? "x" : std::to_string(r.x));
  text = with(text, "{y}", many_y ? "y" : std::to_string(r.y));
  if (many_x) {
    text = fmt::format("for (@range(i16, {}, {}, {})) |x| {{ {} }}", r.x, r.x + (r.count - 1) * r.step + 1,
                       r.step, text);
  }
  if (many_y) text = fmt::format("for (@range(i16, {}, {}, 1)) |y| {{ {} }}", r.y, r.y + r.h, text);
  return "  " + text + "\n";
}

// Of a flow: where, the text of the configuration, and whether that has the coordinates in it.
struct Line {
  Run run;
  std::string config;
  bool varies = false;
};
using Lines = std::vector<Line>;

Lines lines_of(const Flow& f) {
  std::map<std::string, std::vector<Coord>> by_config;
  std::map<std::string, std::vector<CountedPe>> counting;
  for (const auto& [key, config] : f.routers) {
    if (config.filter.kind == FilterKind::counter)
      counting[config_text(config)].push_back({{key.x, key.y}, config.filter.init_counter});
    else
      by_config[config_text(config)].push_back({key.x, key.y});
  }
  Lines lines;
  for (const auto& [config, pes] : by_config) {
    for (const Run& run : kernels::runs_of(pes)) lines.push_back({run, config});
  }
  for (const auto& [config, pes] : counting) {
    for (const CounterRun& r : counter_runs_of(pes)) {
      const std::string counter = counter_text(r);
      lines.push_back(
          {r.run, with(config, "{counter}", counter), counter.find_first_of("xy") != std::string::npos});
    }
  }
  std::ranges::stable_sort(lines, {}, [](const Line& l) { return std::pair(l.run.y, l.run.x); });
  return lines;
}

// Configurations that many lines have, as constants of the layout: thousands of streams repeat the same few.
class Configs {
 public:
  explicit Configs(const std::vector<Lines>& flows) {
    std::map<std::string_view, size_t> uses;
    for (const Lines& lines : flows)
      for (const Line& l : lines) uses[l.config] += !l.varies;
    for (const Lines& lines : flows)
      for (const Line& l : lines)
        if (!l.varies && uses[l.config] >= kNamed &&
            names_.try_emplace(l.config, fmt::format("config{}", names_.size())).second)
          order_.push_back(l.config);
  }

  const std::string& text(const std::string& config) const {
    const auto named = names_.find(config);
    return named == names_.end() ? config : named->second;
  }
  std::string constants() const {
    std::string out;
    for (const std::string& config : order_)
      out += fmt::format("const {} = {};\n", names_.at(config), config);
    return order_.empty() ? out : out + "\n";
  }

 private:
  static constexpr size_t kNamed = 100;  // lines; fewer are easier to read as they are
  std::unordered_map<std::string, std::string> names_;
  std::vector<std::string> order_;
};

std::string flow_text(const Flow& f, const Lines& lines, const Configs& configs) {
  std::string out = fmt::format("\n  // {}\n", f.name);
  for (const Line& l : lines)
    out += loops(l.run, fmt::format("@set_color_config({{x}}, {{y}}, @get_color({}), {});", f.color,
                                    configs.text(l.config)));
  return out;
}

}  // namespace

// The names that the host may use, each once with its type.
static std::string export_text(const Parts& parts, const SharedRoles& shared) {
  std::set<std::string> known;
  std::string out;
  const auto add = [&](const std::string& symbol, const char* type) {
    const std::string& name = shared.exported(symbol);
    if (known.insert(name).second) out += fmt::format("  @export_name(\"{}\", [*]{}, true);\n", name, type);
  };
  for (const Instance& inst : parts.instances) {
    for (const kernels::Exported& e : inst.work.kind->exported(inst, inst.layout.get()))
      add(inst.name + "_" + e.name, e.integer ? "i32" : "f32");
  }
  return out;
}

std::string layout_text(const std::string& model, const Extent& fabric, const SharedRoles& shared,
                        const FlowPlan& plan, const Parts& parts) {
  std::vector<Lines> flows;
  for (const Flow& f : plan.flows) flows.push_back(lines_of(f));
  const Configs configs(flows);
  std::string out = fmt::format(
      "// layout.csl: {}, placed on {} x {} PEs.\n//\n// Which PE runs which file, and what every router "
      "does with "
      "every color.\n\n{}layout {{\n  @set_rectangle({}, {});\n\n",
      model, fabric.width, fabric.height, configs.constants(), fabric.width, fabric.height);
  for (const Role& role : shared.roles()) {
    for (const Run& run : role.runs) {
      out += loops(run, fmt::format("@set_tile_code({{x}}, {{y}}, \"{}.csl\", .{{}});", role.name));
    }
  }
  for (size_t k = 0; k < flows.size(); ++k) out += flow_text(plan.flows[k], flows[k], configs);
  const std::string names = export_text(parts, shared);
  if (!names.empty()) out += "\n" + names;
  return out + "}\n";
}

}  // namespace cs::mapping

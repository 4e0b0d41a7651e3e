// Text of layout.csl.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "compiler/mapping/counter_runs.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/flow_shapes.h"

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

// A coordinate in text: of the fabric, or from where a function is told to begin.
std::string place(const char* origin, int value) {
  if (origin == nullptr) return std::to_string(value);
  return value == 0 ? origin : fmt::format("{} + {}", origin, value);
}
std::string counted(const char* origin, const char* name) {
  return origin == nullptr ? name : fmt::format("{} + {}", origin, name);
}

// Of functions: what their places are counted from.
struct Origin {
  const char *x = nullptr, *y = nullptr;
};

// `call` has {x} and {y}.
std::string loops(const Run& r, const std::string& call, const Origin& from = {}) {
  const bool many_x = r.count > 1, many_y = r.h > 1;
  std::string text = with(call, "{x}", many_x ? counted(from.x, "x") : place(from.x, r.x));
  text = with(text, "{y}", many_y ? counted(from.y, "y") : place(from.y, r.y));
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

// Texts of configurations: most routers of a flow do what one before them does.
class ConfigTexts {
 public:
  // Counters are left out.
  const std::string& of(const RouteConfig& config) {
    RouteConfig c = config;
    c.filter.init_counter = 0;
    const auto same = std::ranges::find(known_, c, &std::pair<RouteConfig, std::string>::first);
    if (same != known_.end()) return same->second;
    if (known_.size() >= kMost) known_.clear();
    return known_.emplace_back(c, config_text(c)).second;
  }

 private:
  static constexpr size_t kMost = 32;
  std::vector<std::pair<RouteConfig, std::string>> known_;
};

// Places are counted from `origin`.
Lines lines_of(const Flow& f, Coord origin, ConfigTexts& texts) {
  std::map<std::string, std::vector<Coord>, std::less<>> by_config;
  std::map<std::string, std::vector<CountedPe>, std::less<>> counting;
  for (const auto& [key, config] : f.routers) {
    const Coord at{key.x - origin.x, key.y - origin.y};
    if (config.filter.kind == FilterKind::counter)
      counting[texts.of(config)].push_back({at, config.filter.init_counter});
    else
      by_config[texts.of(config)].push_back(at);
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
  void count(const Lines& lines) {
    for (const Line& l : lines) {
      if (l.varies) continue;
      const auto [it, fresh] = uses_.try_emplace(l.config, 0);
      if (fresh) order_.push_back(l.config);
      if (++it->second == kNamed) names_.try_emplace(l.config);
    }
  }
  // When all have been counted.
  void name() {
    std::erase_if(order_, [&](const std::string& config) { return !names_.contains(config); });
    for (size_t k = 0; k < order_.size(); ++k) names_[order_[k]] = fmt::format("config{}", k);
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
  std::unordered_map<std::string, size_t> uses_;
  std::unordered_map<std::string, std::string> names_;
  std::vector<std::string> order_;
};

// The flows of the layout. A shape that many of them have is a function, called with a place and a color.
class Flows {
 public:
  explicit Flows(const std::vector<Flow>& flows) : flows_(flows), shaped_(shapes_of(flows)), lines_(flows.size()) {
    std::vector<size_t> uses(flows.size(), 0);
    for (const ShapedFlow& s : shaped_) ++uses[s.shape];
    for (size_t f = 0; f < flows.size(); ++f)
      if (shaped_[f].shape == f && uses[f] >= kRepeated) functions_.push_back(f), ++named_[f];
    ConfigTexts texts;
    for (size_t f = 0; f < flows.size(); ++f) {
      const bool function = named_.contains(shaped_[f].shape);
      if (function && shaped_[f].shape != f) continue;
      lines_[f] = lines_of(flows[f], function ? shaped_[f].at : Coord{}, texts);
      configs_.count(lines_[f]);
    }
    configs_.name();
    for (size_t k = 0; k < functions_.size(); ++k) named_[functions_[k]] = k;
  }

  std::string constants() const { return configs_.constants(); }

  std::string functions() const {
    std::string out;
    for (size_t k = 0; k < functions_.size(); ++k) {
      out += fmt::format("fn way{}(x0: i16, y0: i16, c: color) void {{\n", k);
      for (const Line& l : lines_[functions_[k]]) out += line(l, "c", {"x0", "y0"});
      out += "}\n";
    }
    if (out.empty()) return out;
    return "// What many streams do, each from its own place on, with its own color.\n" + out + "\n";
  }

  std::string text() const {
    std::string out;
    for (size_t f = 0; f < flows_.size(); ++f) {
      const ShapedFlow& s = shaped_[f];
      out += fmt::format("\n  // {}\n", flows_[f].name);
      const std::string color = fmt::format("@get_color({})", flows_[f].color);
      if (const auto function = named_.find(s.shape); function != named_.end())
        out += fmt::format("  way{}({}, {}, {});\n", function->second, s.at.x, s.at.y, color);
      else
        for (const Line& l : lines_[f]) out += line(l, color, {});
    }
    return out;
  }

 private:
  static constexpr size_t kRepeated = 20;  // flows; a few are easier to read one by one

  std::string line(const Line& l, const std::string& color, const Origin& from) const {
    return loops(l.run, fmt::format("@set_color_config({{x}}, {{y}}, {}, {});", color, configs_.text(l.config)), from);
  }

  const std::vector<Flow>& flows_;
  std::vector<ShapedFlow> shaped_;
  std::vector<Lines> lines_;        // those of a function from its own corner on, none of the flows that call it
  std::vector<size_t> functions_;   // shapes
  std::unordered_map<size_t, size_t> named_;  // shape -> its function
  Configs configs_;
};

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
  const Flows flows(plan.flows);
  std::string out = fmt::format(
      "// layout.csl: {}, placed on {} x {} PEs.\n//\n// Which PE runs which file, and what every router "
      "does with "
      "every color.\n\n{}{}layout {{\n  @set_rectangle({}, {});\n\n",
      model, fabric.width, fabric.height, flows.constants(), flows.functions(), fabric.width, fabric.height);
  for (const Role& role : shared.roles()) {
    for (const Run& run : role.runs) {
      out += loops(run, fmt::format("@set_tile_code({{x}}, {{y}}, \"{}.csl\", .{{}});", role.name));
    }
  }
  out += flows.text();
  const std::string names = export_text(parts, shared);
  if (!names.empty()) out += "\n" + names;
  return out + "}\n";
}

}  // namespace cs::mapping

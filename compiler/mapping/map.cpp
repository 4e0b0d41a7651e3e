// The driver of mapping: see mapping.h for the steps.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/copies.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/resident.h"
#include "compiler/mapping/roof.h"
#include "compiler/mapping/slack.h"

namespace cs::mapping {

namespace {

void pass_on(const Diag& from, Diag& to, const std::string& help = {}) {
  for (const Diagnostic& d : from.all()) to.error_at(d.where, d.message, help.empty() ? d.help : help);
}

// Routes and colors: one after the other, which is better where both can be had, or together.
enum class Routed : uint8_t { yes, no_way, no_color };
Routed route_and_color(const Parts& parts, const Machine& machine, const Extent& fabric, FlowPlan& plan, Diag& diag) {
  if (!route_flows(parts, fabric, machine, plan, diag)) return Routed::no_way;
  Diag full, together;
  if (color_flows(plan, machine, full) || route_flows_in_colors(parts, fabric, machine, plan, together))
    return Routed::yes;
  pass_on(full, diag);
  return Routed::no_color;
}

// Where streams have no way round each other, rows and columns are added east and south of the rectangles, as
// long as the fabric has them.
bool route_with_room(const Parts& parts, const MapOptions& options, const Machine& machine, Extent& fabric,
                     FlowPlan& plan, Diag& diag) {
  constexpr int kMaxMargin = 4;
  const Extent limit = fabric_limit(options, machine), packed = fabric;
  for (int margin = 0;; ++margin) {
    Diag trial;
    const Routed routed = route_and_color(parts, machine, fabric, plan, trial);
    if (routed == Routed::yes) return true;
    Extent wider{std::min(limit.width, packed.width + margin + 1),
                 std::min(limit.height, packed.height + margin + 1)};
    bool same = wider.width == fabric.width && wider.height == fabric.height;
    if (options.fabric_width > 0 || same || margin == kMaxMargin || routed == Routed::no_color) {
      pass_on(trial, diag);
      return false;
    }
    fabric = wider;
  }
}

// Places, routes and colors; where that fails, again with more room between the rectangles.
bool place_and_route(Parts& parts, const PlanLists& plans, const MapOptions& options, const Machine& machine,
                     Extent& fabric, FlowPlan& flows, PlacementFigures& figures, Diag& diag,
                     std::vector<Misfit>& misfits) {
  constexpr int kAttempts = 12;
  const Extent limit = fabric_limit(options, machine);
  Diag last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Parts placed = parts;
    Extent used;
    if (!place_instances(placed, plans, limit, attempt, options.threads, used, figures)) continue;
    for (Instance& inst : placed.instances)
      if (inst.region) inst.layout = lay_out(*inst.region, inst.cut);
    add_relays(placed);
    fabric = options.fabric_width > 0 ? limit : used;
    last = {};
    if (!route_with_room(placed, options, machine, fabric, flows, last)) continue;
    parts = std::move(placed);
    return verify_flows(flows, parts, fabric, machine, diag);
  }
  if (last.ok()) {
    report_no_room(parts, plans, options, machine, diag);
    if (options.fabric_width == 0) misfits = too_large_together(parts, plans, limit);
  }
  pass_on(last, diag);
  return false;
}

// What instances have that were placed, without the buffers behind them.
PlanLists plans_of(const Parts& placed, const Parts& parts) {
  PlanLists lists;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = placed.instances[i];
    lists.push_back({{inst.plan, inst.cut, inst.work.rows / parts.instances[i].work.rows}});
  }
  return lists;
}

struct Placed {
  Parts parts;
  Extent fabric;
  FlowPlan flows;
  PlacementFigures figures;
  double interval = 0;
};

// With the buffers that let the network keep the pace of its slowest kernel. Nothing if they have no room, or if the
// network is as good without.
std::optional<Placed> place_with_slack(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                                       const Machine& machine) {
  constexpr int kRounds = 2;      // the second one knows which plans are chosen
  constexpr double kNear = 1.05;  // of the slowest kernel's interval
  const int widest = std::max(1, fabric_limit(options, machine).width / 2);
  std::optional<Placed> best;
  PlanLists chosen = plans;
  for (int round = 0; round < kRounds; ++round) {
    const Slack slack = plan_slack(parts, chosen, machine);
    if (slack.empty() && round == 0) break;
    Placed now;
    now.parts = parts;
    PlanLists lists = chosen;
    add_slack(now.parts, lists, slack, machine, widest);
    Diag no_room;
    std::vector<Misfit> ignored;
    if (!place_and_route(now.parts, lists, options, machine, now.fabric, now.flows, now.figures, no_room, ignored))
      break;
    chosen = plans_of(now.parts, parts);
    const auto interval = network_interval(now.parts, {}, machine, true);
    if (!interval || !stuck_operands(now.parts).empty()) continue;
    if (best && interval->cycles >= best->interval) break;
    now.interval = interval->cycles;
    best = std::move(now);
    if (interval->cycles <= interval->slowest * kNear) break;
  }
  return best;
}

// With no more buffers than it needs to go on at all; placing may choose plans that need others.
bool place_with_least_slack(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                            const Machine& machine, Placed& now, Diag& diag, std::vector<Misfit>& misfits) {
  constexpr int kRounds = 3;
  const int widest = std::max(1, fabric_limit(options, machine).width / 2);
  PlanLists chosen = plans;
  for (int round = 0;; ++round) {
    PlanLists lists = chosen;
    now.parts = parts;
    add_slack(now.parts, lists, least_slack(parts, chosen, machine), machine, widest);
    if (!place_and_route(now.parts, lists, options, machine, now.fabric, now.flows, now.figures, diag, misfits))
      return false;
    if (round + 1 == kRounds || stuck_operands(now.parts).empty()) return verify_waiting(now.parts, diag);
    chosen = plans_of(now.parts, parts);
  }
}

NetworkEstimate estimate_network(const Placed& placed, const Machine& machine) {
  const Parts& parts = placed.parts;
  NetworkEstimate e;
  const auto interval = network_interval(parts, {}, machine, true);
  if (!interval || interval->slowest_instance < 0) return e;
  e.interval_cycles = interval->cycles;
  e.slowest_cycles = interval->slowest;
  e.slowest = parts.instances[size_t(interval->slowest_instance)].name;
  for (int i : interval->instances) e.circle.push_back(parts.instances[size_t(i)].name);
  const BusiestLink link = busiest_link(parts, placed.flows, placed.fabric);
  if (link.words > e.interval_cycles) {
    e.interval_cycles = link.words;
    e.circle.clear();
    e.link = link.streams;
  }
  return e;
}

// What PE files and generated modules import from the library.
void add_library(Mapped& mapped) {
  std::set<std::string_view> imported;
  for (const auto& [name, text] : mapped.files) {
    for (std::string_view file : kernels::imports_of(text)) imported.insert(file);
  }
  for (std::string_view file : imported) mapped.files[std::string(file)] = std::string(kernels::source(file));
}

// Colors of the streams that each instance takes and gives, by operand and by result.
struct StreamColors {
  std::vector<int> in, out;
};

std::vector<StreamColors> stream_colors(const Parts& parts, const FlowPlan& plan) {
  std::vector<StreamColors> colors;
  for (const Instance& inst : parts.instances)
    colors.push_back({std::vector<int>(size_t(inst.work.operands), 0),
                      std::vector<int>(std::max<size_t>(1, inst.results.size()), 0)});
  for (size_t s = 0; s < parts.streams.size(); ++s) {
    const Stream& stream = parts.streams[s];
    const int f = plan.of_stream[s], color = f < 0 ? 0 : plan.flows[size_t(f)].color;
    if (stream.producer >= 0) colors[size_t(stream.producer)].out[size_t(stream.result)] = color;
    for (const Taker& t : stream.takers)
      if (t.instance >= 0) colors[size_t(t.instance)].in[size_t(t.operand)] = color;
  }
  return colors;
}

SharedRoles emit_roles(const Parts& parts, const FlowPlan& plan, const Machine& machine, Mapped& mapped,
                       Diag& diag, std::vector<Misfit>& misfits) {
  SharedRoles shared;
  const std::vector<StreamColors> colors = stream_colors(parts, plan);
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    InstanceRoles made = roles_of(inst, plan.of_instance[i], colors[i].in, colors[i].out, plan, machine);
    mapped.nodes_of_kernel[inst.name] = inst.node_names;
    Diag trial;
    bool ok = true;
    for (Role& role : made.roles)
      ok = allocate_role(role, machine, trial) && verify_role(role, machine, trial) && ok;
    if (!ok) {
      misfits.push_back({inst.name, inst.node_names, trial.all().front().message, 0});
      pass_on(trial, diag);
      continue;
    }
    for (const std::string& file : shared.add(inst.name, std::move(made)))
      mapped.kernels_of_file[file].push_back(inst.name);
  }
  mapped.files = shared.files();
  add_library(mapped);
  return shared;
}

const std::string& title_of(const Parts& parts, const std::string& kernel) {
  return std::find_if(parts.instances.begin(), parts.instances.end(),
                      [&](const Instance& inst) { return inst.name == kernel; })
      ->title;
}

void add_graph_nodes(const graph::Graph& g, const Parts& parts, HostPart& host) {
  std::map<std::string_view, const Instance*> by_name;
  for (const Instance& inst : parts.instances) by_name[inst.name] = &inst;
  for (KernelRow& row : host.kernels) {
    const auto it = by_name.find(row.name);
    if (row.origin == Origin::host || it == by_name.end()) continue;
    for (graph::NodeId id : it->second->nodes) row.nodes.push_back(g.node(id).name);
  }
}

// Seconds of each step: from one mark to the next.
class StepTimes {
 public:
  void mark(const char* step, std::vector<std::pair<std::string, double>>& list) {
    const auto now = std::chrono::steady_clock::now();
    list.emplace_back(step, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Files, weights, host part and reports of what is placed.
bool emit(const graph::Graph& g, Placed& placed, const Machine& machine, Mapped& mapped, Diag& diag,
          std::vector<Misfit>& misfits) {
  Parts& parts = placed.parts;
  mapped.layout = "layout.csl";
  const SharedRoles shared = emit_roles(parts, placed.flows, machine, mapped, diag, misfits);
  if (!diag.ok()) return false;
  mapped.files[mapped.layout] = layout_text(g.name, placed.fabric, shared, placed.flows, parts);
  mapped.host = parts.host;
  mapped.weights = std::move(parts.weights);
  pack_copies(parts, placed.fabric, mapped.weights, mapped.host.constants);
  for (Constant& c : mapped.host.constants) c.symbol = shared.exported(c.symbol);
  mapped.ports = placed.flows.ports;
  mapped.fabric_width = placed.fabric.width;
  mapped.fabric_height = placed.fabric.height;
  fill_reports(parts, placed.flows, placed.fabric, machine, mapped);
  add_graph_nodes(g, parts, mapped.host);
  name_baselines(g, mapped.host);
  return true;
}

// The rest of the strips, and the fabric that they lie on.
bool place_copies(Placed& placed, const MapOptions& options, const Machine& machine, Mapped& mapped, Diag& diag) {
  estimate_copies(placed.parts, placed.flows, machine, mapped.estimate);
  const int count = placed.parts.copies.count;
  if (count == 1) return true;
  add_copies(placed.parts, placed.flows, placed.fabric);
  if (options.fabric_width > 0) placed.fabric = whole_fabric(options, machine);
  mapped.figures.area *= count;
  mapped.figures.least_area *= count;
  mapped.figures.wire_length *= count;
  return verify_flows(placed.flows, placed.parts, placed.fabric, machine, diag);
}

// One network on what fabric_limit() gives it, and its copies.
std::optional<Mapped> map_strips(const graph::Graph& g, const Machine& machine, const MapOptions& options, Diag& diag,
                                 std::vector<Misfit>& misfits) {
  StepTimes times;
  Mapped mapped;
  Parts parts;
  if (!build_parts(g, options, machine, parts, diag)) {
    misfits = std::move(parts.misfits);
    return std::nullopt;
  }
  parts.copies = options.copies;
  parts.host.roof = roof_of(parts, machine);
  times.mark("parts", mapped.seconds);
  if (options.resident) {
    if (!map_resident(g, parts, options, machine, mapped, diag)) return std::nullopt;
    add_library(mapped);
    add_graph_nodes(g, parts, mapped.host);
    times.mark("emit", mapped.seconds);
    return mapped;
  }
  PlanLists plans;
  std::vector<Misfit> without;
  list_plans(parts.instances, options, machine, plans, without);
  if (!without.empty()) {
    // Where the fabric is smaller than the machine's, a larger one may be all that is missing.
    const std::string help = options.fabric_width > 0 ? room_help(parts, options, machine) : "";
    for (const Misfit& m : without) diag.error_at(title_of(parts, m.kernel), m.why, help);
    misfits = std::move(without);
    return std::nullopt;
  }
  if (least_interval(plans) / options.copies.count >= options.too_slow) {
    mapped.too_slow = true;
    return mapped;
  }
  keep_pace(plans, options.pace);
  times.mark("size", mapped.seconds);
  std::optional<Placed> placed = place_with_slack(parts, plans, options, machine);
  if (!placed && !place_with_least_slack(parts, plans, options, machine, placed.emplace(), diag, misfits))
    return std::nullopt;
  mapped.figures = placed->figures;
  mapped.estimate = estimate_network(*placed, machine);
  if (!place_copies(*placed, options, machine, mapped, diag)) return std::nullopt;
  times.mark("place and route", mapped.seconds);
  if (!emit(g, *placed, machine, mapped, diag, misfits)) return std::nullopt;
  times.mark("emit", mapped.seconds);
  return mapped;
}

// Side by side or, where that is not possible, stacked; else `why` says what a strip lacks.
std::optional<Mapped> map_copies(const graph::Graph& g, const Machine& machine, MapOptions options, std::string& why) {
  const Extent whole = whole_fabric(options, machine);
  const int lines = std::max(whole.width, whole.height);
  if (options.copies.count > machine.host.host_ports || options.copies.count > lines) {
    why = fmt::format("and each needs a host port and a column or a row of its own; there are {} ports at an edge",
                      machine.host.host_ports);
    return std::nullopt;
  }
  for (bool stacked : {false, true}) {
    if (options.copies.count > (stacked ? whole.height : whole.width)) continue;
    options.copies.stacked = stacked;
    Diag trial;
    std::vector<Misfit> ignored;
    if (std::optional<Mapped> mapped = map_strips(g, machine, options, trial, ignored)) return mapped;
    if (why.empty() && !trial.all().empty())
      why = fmt::format("and {}: {}", trial.all().front().where, trial.all().front().message);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Mapped> map_graph(const graph::Graph& g, const Machine& machine, const MapOptions& options, Diag& diag,
                                std::vector<Misfit>* misfits) {
  std::vector<Misfit> ignored;
  if (!misfits) misfits = &ignored;
  if (options.copies.count == 1) return map_strips(g, machine, options, diag, *misfits);
  if (options.resident) {
    diag.error_at(g.name,
                  "a kernel whose operands lie on its PEs is launched for one sample after the other; it has no copies",
                  "leave out --copies, or stream the operands");
    return std::nullopt;
  }
  std::string why, ignored_why;
  if (std::optional<Mapped> mapped = map_copies(g, machine, options, why)) return mapped;
  // What is wrong with one network is reported as ever; only if nothing is, there are too many.
  MapOptions one = options;
  one.copies = {};
  if (!map_strips(g, machine, one, diag, *misfits)) return std::nullopt;
  int most = options.copies.count / 2;
  for (; most > 1; most /= 2) {
    one.copies.count = most;
    if (map_copies(g, machine, one, ignored_why)) break;
  }
  report_no_room_for_copies(g.name, options, machine, why, most, diag);
  return std::nullopt;
}

void attach(const Mapped& mapped, Program& program) {
  program.host = mapped.host;
  program.ports = mapped.ports;
}

}  // namespace cs::mapping

// The driver of mapping: see mapping.h for the steps.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/mapping/copies.h"
#include "compiler/mapping/emit.h"
#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/place_network.h"
#include "compiler/mapping/resident.h"
#include "compiler/mapping/roof.h"
#include "compiler/mapping/slack.h"
#include "compiler/mapping/strips.h"

namespace cs::mapping {

NetworkEstimate estimate_network(const Placed& placed, const Machine& machine, PlansBy plans) {
  const Parts& parts = placed.parts;
  NetworkEstimate e;
  const auto interval = network_interval(parts, {}, machine, true, 1, plans);
  if (!interval || interval->slowest_instance < 0) return e;
  e.interval_cycles = interval->cycles;
  e.slowest_cycles = interval->slowest;
  e.slowest = parts.instances[size_t(interval->slowest_instance)].name;
  for (int i : interval->instances) e.circle.push_back(parts.instances[size_t(i)].name);
  const BusiestLink link = busiest_link(parts, placed.flows, placed.fabric);
  if (link.wavelets > e.interval_cycles) {
    e.interval_cycles = link.wavelets;
    e.circle.clear();
    e.link = link.flows;
  }
  return e;
}

namespace {

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
  bool shared = false;  // others take one of its operands too
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
    for (const Taker& t : stream.takers) {
      if (t.instance < 0) continue;
      colors[size_t(t.instance)].in[size_t(t.operand)] = color;
      const auto is_other = [&](const Taker& other) { return other.instance != t.instance; };
      if (std::any_of(stream.takers.begin(), stream.takers.end(), is_other))
        colors[size_t(t.instance)].shared = true;
    }
  }
  return colors;
}

// Modules that have the parameter `shared` (autogen/elementwise.h) are told so.
void tell_shared(InstanceRoles& made) {
  for (Role& role : made.roles)
    for (ModuleUse& use : role.modules)
      for (Parameter& p : use.parameters)
        if (p.name == "shared") p.value = "true";
}

SharedRoles emit_roles(const Parts& parts, const FlowPlan& plan, const Machine& machine, Mapped& mapped,
                       Diag& diag, std::vector<Misfit>& misfits) {
  SharedRoles shared;
  const std::vector<StreamColors> colors = stream_colors(parts, plan);
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    InstanceRoles made = roles_of(inst, plan.of_instance[i], colors[i].in, colors[i].out, plan, machine);
    if (colors[i].shared) tell_shared(made);
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
  pack_copies(parts, mapped.weights, mapped.host);
  for (Constant& c : mapped.host.constants) c.symbol = shared.exported(c.symbol);
  for (HostState& s : mapped.host.states)
    for (StatePart& p : s.parts) p.symbol = shared.exported(p.symbol);
  mapped.ports = placed.flows.ports;
  mapped.fabric_width = placed.fabric.width;
  mapped.fabric_height = placed.fabric.height;
  fill_reports(parts, placed.flows, placed.fabric, machine, mapped);
  add_graph_nodes(g, parts, mapped.host);
  name_baselines(g, mapped.host);
  return true;
}

// A network for every band of strips. Bands of the same extent have the same one, with other ways to the host.
class Bands {
 public:
  Bands(const Parts& parts, MapOptions options, const Machine& machine)
      : parts_(parts), options_(std::move(options)), machine_(machine) {}

  // Plans for the first band: false where some kernel has none.
  bool list(std::vector<Misfit>& without) {
    list_plans(parts_.instances, options_, machine_, plans_, without);
    return without.empty();
  }
  double least_interval() const { return mapping::least_interval(plans_); }

  bool place(Diag& diag, std::vector<Misfit>& misfits) {
    const size_t bands = bands_of(options_.copies).size();
    for (size_t b = 0; b < bands; ++b) {
      const Extent before = fabric_limit(options_, machine_);
      options_.copies.band = int(b);
      const Extent limit = fabric_limit(options_, machine_);
      const bool same = limit.width == before.width && limit.height == before.height;
      std::optional<Placed> placed;
      if (b > 0 && same) placed = route_for_band(placed_.back(), options_, machine_);
      if (!placed) {
        std::vector<Misfit> without;
        if (!same) list_plans(parts_.instances, options_, machine_, plans_, without);
        Parts parts = parts_;
        parts.copies = options_.copies;
        if (without.empty()) placed = place_network(parts, plans_, options_, machine_, diag, misfits);
      }
      if (!placed) return false;
      placed_.push_back(std::move(*placed));
    }
    return true;
  }

  // Of the slowest: samples are taken in turn.
  NetworkEstimate estimate() const {
    NetworkEstimate slowest;
    for (const Placed& p : placed_) {
      NetworkEstimate e = estimate_network(p, machine_, PlansBy::formulas);
      estimate_copies(p, machine_, e);
      if (e.interval_cycles >= slowest.interval_cycles) slowest = std::move(e);
    }
    return slowest;
  }

  PlacementFigures figures() const {
    PlacementFigures all = placed_[0].figures;
    if (options_.copies.count == 1) return all;
    all.area = all.least_area = 0, all.wire_length = 0;
    for (size_t b = 0; b < placed_.size(); ++b) {
      const int copies = bands_of(options_.copies)[b].copies;
      const PlacementFigures& f = placed_[b].figures;
      all.area += f.area * copies, all.least_area += f.least_area * copies;
      all.wire_length += f.wire_length * copies;
      all.interval = std::max(all.interval, f.interval);
      all.interval_bound = std::max(all.interval_bound, f.interval_bound);
    }
    return all;
  }

  // All copies; nothing if what is found to be wrong is in diag.
  std::optional<Placed> all(Diag& diag) {
    if (options_.copies.count == 1) return std::move(placed_[0]);
    std::vector<Extent> extents;
    for (const Placed& p : placed_) extents.push_back(p.fabric);
    std::optional<Extent> whole;
    if (options_.fabric_width > 0) whole = whole_fabric(options_, machine_);
    Placed all = with_copies(placed_, place_strips(options_.copies, extents, whole));
    if (!verify_flows(all.flows, all.parts, all.fabric, machine_, diag)) return std::nullopt;
    return all;
  }

 private:
  const Parts& parts_;
  MapOptions options_;
  const Machine& machine_;
  PlanLists plans_;
  std::vector<Placed> placed_;
};

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
  Bands bands(parts, options, machine);
  if (std::vector<Misfit> without; !bands.list(without)) {
    // Where the fabric is smaller than the machine's, a larger one may be all that is missing.
    const Help help = options.fabric_width > 0 ? room_help(parts, options, machine) : Help();
    for (const Misfit& m : without) diag.error_at(title_of(parts, m.kernel), m.why, help);
    misfits = std::move(without);
    return std::nullopt;
  }
  if (bands.least_interval() / options.copies.count >= options.too_slow) {
    mapped.too_slow = true;
    return mapped;
  }
  times.mark("size", mapped.seconds);
  if (!bands.place(diag, misfits)) return std::nullopt;
  mapped.estimate = bands.estimate();
  mapped.estimate.planned_cycles = mapped.estimate.interval_cycles;
  // Of copies on other strips that are as fast nothing more is made.
  mapped.too_slow = options.copies.count > 1 && mapped.estimate.planned_cycles >= options.too_slow;
  if (mapped.too_slow) return mapped;
  mapped.figures = bands.figures();
  std::optional<Placed> placed = bands.all(diag);
  if (!placed) return std::nullopt;
  times.mark("place and route", mapped.seconds);
  if (!emit(g, *placed, machine, mapped, diag, misfits)) return std::nullopt;
  if (options.copies.count == 1) mapped.placed = std::make_shared<Placed>(std::move(*placed));
  times.mark("emit", mapped.seconds);
  return mapped;
}

// So many copies on such strips?
bool can_cut(const Strips& strips, const Extent& whole, const Machine& machine) {
  for (const Band& band : bands_of(strips)) {
    // A network with one edge needs a port to take and one to give.
    const int ports = band.edges.size() == 1 ? 2 : 1;
    if (band.copies < 1 || band.copies * ports > machine.host.host_ports) return false;
  }
  const Extent strip = strip_of(strips, whole);
  return strip.width > 0 && strip.height > 0;
}

// On the strips with which the network is fastest by estimate; else `why` says what the first of them lack.
std::optional<Mapped> map_copies(const graph::Graph& g, const Machine& machine, MapOptions options, std::string& why) {
  constexpr double kWorth = 1.01;  // other strips, beside those that were found before
  const Extent whole = whole_fabric(options, machine);
  std::optional<Mapped> best;
  for (const StripCut cut : kStripCuts) {
    options.copies.cut = cut;
    // What training changes lies in one place for all copies of a band.
    if (!g.states.empty() && bands_of(options.copies).size() > 1) continue;
    if (!can_cut(options.copies, whole, machine)) continue;
    Diag trial;
    std::vector<Misfit> ignored;
    std::optional<Mapped> mapped = map_strips(g, machine, options, trial, ignored);
    if (why.empty() && !trial.all().empty())
      why = fmt::format("and {}: {}", trial.all().front().where, trial.all().front().message);
    if (!mapped || (best && mapped->too_slow)) continue;
    if (!mapped->too_slow) options.too_slow = mapped->estimate.planned_cycles / kWorth;
    best = std::move(mapped);
  }
  if (!best && why.empty())
    why = fmt::format("and each needs host ports and a column or a row of its own; there are {} ports at an edge",
                      machine.host.host_ports);
  return best;
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
  const int by_ports = most_by_ports(machine);
  int most = options.copies.count > by_ports ? by_ports : options.copies.count / 2;
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

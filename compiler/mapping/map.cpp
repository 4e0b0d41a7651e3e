// The driver of mapping: see mapping.h for the steps.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

// Sizes and places; when the shelves do not fit, slower and smaller kernels are tried.
bool size_and_place(Parts& parts, const MapOptions& options, const Machine& machine, Extent& fabric,
                    Diag& diag) {
  Extent limit = fabric_limit(options, machine);
  Parts sized;
  Extent used;
  for (double slack = 1.02; slack < 1e6; slack *= 1.3) {
    sized = parts;
    if (!size_instances(sized.instances, options, machine, slack, diag)) return false;
    add_relays(sized);
    if (!place_instances(sized.instances, limit, used)) continue;
    parts = std::move(sized);
    for (Instance& inst : parts.instances) {
      if (inst.region) inst.layout = lay_out(*inst.region, inst.cut);
    }
    fabric = options.fabric_width > 0 ? limit : Extent{std::max(1, used.width), std::max(1, used.height)};
    return true;
  }
  int64_t need = 0;
  for (const Instance& inst : sized.instances)
    need += int64_t(inst.plan.cut.w + inst.feeders() + inst.collectors()) * inst.plan.cut.h;
  diag.error_at(parts.host.model,
                fmt::format("its rectangles ({} PEs) cannot be packed on the fabric of {} x {} PEs", need,
                            limit.width, limit.height),
                "use a larger --fabric");
  return false;
}

// Routes and colors. Where streams have no way round each other, rows and columns are added east and south of
// the rectangles, as long as the fabric has them.
bool route_and_color(const Parts& parts, const MapOptions& options, const Machine& machine, Extent& fabric,
                     FlowPlan& plan, Diag& diag) {
  constexpr int kMaxMargin = 4;
  const Extent limit = fabric_limit(options, machine), packed = fabric;
  for (int margin = 0;; ++margin) {
    Diag trial;
    if (route_flows(parts, fabric, machine, plan, trial) && color_flows(plan, machine, trial)) break;
    Extent wider{std::min(limit.width, packed.width + margin + 1),
                 std::min(limit.height, packed.height + margin + 1)};
    bool fixed = options.fabric_width > 0 || (wider.width == fabric.width && wider.height == fabric.height);
    if (fixed || margin == kMaxMargin) {
      return route_flows(parts, fabric, machine, plan, diag) && color_flows(plan, machine, diag);
    }
    fabric = wider;
  }
  return verify_flows(plan, parts, fabric, machine, diag);
}

std::vector<Role> emit_roles(const Parts& parts, const FlowPlan& plan, const Machine& machine, Mapped& mapped,
                             Diag& diag) {
  std::vector<Role> roles;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = parts.instances[i];
    std::vector<int> in(size_t(inst.work.operands), 0);
    std::vector<int> out(std::max<size_t>(1, inst.results.size()), 0);
    for (size_t s = 0; s < parts.streams.size(); ++s) {
      int f = plan.of_stream[s];
      int color = f < 0 ? 0 : plan.flows[size_t(f)].color;
      if (parts.streams[s].producer == int(i)) out[size_t(parts.streams[s].result)] = color;
      for (const Taker& t : parts.streams[s].takers) {
        if (t.instance == int(i)) in[size_t(t.operand)] = color;
      }
    }
    InstanceRoles made = roles_of(inst, plan.of_instance[i], in, out, plan, machine);
    for (Role& role : made.roles) {
      if (!allocate_role(role, machine, diag) || !verify_role(role, machine, diag)) continue;
      mapped.files[role.name + ".csl"] = role_text(role);
      for (const ModuleUse& use : role.modules) {
        std::string_view library = kernels::source(use.file);
        if (!library.empty()) mapped.files[use.file] = std::string(library);
      }
      roles.push_back(std::move(role));
    }
    mapped.files.merge(made.files);
  }
  return roles;
}

void add_graph_nodes(const graph::Graph& g, const Parts& parts, HostPart& host) {
  for (KernelRow& row : host.kernels) {
    for (const Instance& inst : parts.instances) {
      if (inst.name != row.name || row.origin == Origin::host) continue;
      for (graph::NodeId id : inst.nodes) row.nodes.push_back(g.node(id).name);
    }
  }
}

}  // namespace

std::optional<Mapped> map_graph(const graph::Graph& g, const Machine& machine, const MapOptions& options,
                                Diag& diag) {
  Parts parts;
  Extent fabric;
  if (!build_parts(g, options, machine, parts, diag)) return std::nullopt;
  if (!size_and_place(parts, options, machine, fabric, diag)) return std::nullopt;
  FlowPlan plan;
  if (!route_and_color(parts, options, machine, fabric, plan, diag)) return std::nullopt;
  Mapped mapped;
  mapped.layout = "layout.csl";
  std::vector<Role> roles = emit_roles(parts, plan, machine, mapped, diag);
  if (!diag.ok()) return std::nullopt;
  mapped.files[mapped.layout] = layout_text(g.name, fabric, roles, plan, parts);
  mapped.host = parts.host;
  mapped.weights = parts.weights;
  for (const Instance& inst : parts.instances) pack_constants(inst, mapped.weights, mapped.host.constants);
  mapped.ports = plan.ports;
  mapped.fabric_width = fabric.width;
  mapped.fabric_height = fabric.height;
  fill_reports(parts, plan, fabric, machine, mapped);
  add_graph_nodes(g, parts, mapped.host);
  name_baselines(g, mapped.host);
  return mapped;
}

void attach(const Mapped& mapped, Program& program) {
  program.host = mapped.host;
  program.ports = mapped.ports;
}

}  // namespace cs::mapping

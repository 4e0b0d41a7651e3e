// Colors of flows: two flows that share a router need different colors. Flows with switches may use only
// colors whose switches have positions, so they choose first and such colors come first in the palette.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/algo/coloring.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

Palette color_palette(const Machine& machine) {
  Palette p;
  for (int c : machine.router.switchable_colors) {
    if (c < machine.router.colors) p.colors.push_back(c);
  }
  p.switchable = p.colors.size();
  for (int c = 0; c < machine.router.colors; ++c) {
    const auto end = p.colors.begin() + std::ptrdiff_t(p.switchable);
    if (std::find(p.colors.begin(), end, c) == end) p.colors.push_back(c);
  }
  return p;
}

namespace {

std::map<RouterKey, std::vector<size_t>> flows_at_routers(const std::vector<Flow>& flows) {
  std::map<RouterKey, std::vector<size_t>> at;
  for (size_t f = 0; f < flows.size(); ++f) {
    for (const auto& [key, config] : flows[f].routers) at[key].push_back(f);
  }
  return at;
}

}  // namespace

bool color_flows(FlowPlan& plan, const Machine& machine, Diag& diag) {
  auto at = flows_at_routers(plan.flows);
  std::set<algo::Edge> edges;
  for (const auto& [key, list] : at) {
    for (size_t i = 0; i < list.size(); ++i) {
      for (size_t j = i + 1; j < list.size(); ++j) edges.insert({list[i], list[j]});
    }
  }
  std::vector<bool> early;
  for (const Flow& f : plan.flows) early.push_back(f.switches);
  std::vector<int> chosen = algo::color_graph(plan.flows.size(), {edges.begin(), edges.end()}, early);
  const auto [colors, switchable] = color_palette(machine);
  for (size_t f = 0; f < plan.flows.size(); ++f) {
    size_t have = plan.flows[f].switches ? switchable : colors.size();
    if (size_t(chosen[f]) >= have) {
      diag.error_at(plan.flows[f].name,
                    fmt::format("needs color number {}, the machine has {}{}", chosen[f] + 1, have,
                                plan.flows[f].switches ? " with switches" : ""),
                    "use a larger --fabric, so that fewer streams share a router");
      return false;
    }
    plan.flows[f].color = colors[size_t(chosen[f])];
  }
  for (size_t p = 0; p < plan.ports.size(); ++p) {
    plan.ports[p].color = uint8_t(plan.flows[size_t(plan.port_flow[p])].color);
  }
  return true;
}

}  // namespace cs::mapping

// Colors of flows: two flows that share a router need different colors. Flows with switches may use only
// colors whose switches have positions, so they choose first and such colors come first in the palette.
#include <algorithm>
#include <utility>
#include <vector>

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

void sort_once(std::vector<algo::Edge>& edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

// Pairs of flows that share a router, each once and in order.
std::vector<algo::Edge> neighbours(const std::vector<Flow>& flows) {
  std::vector<std::pair<RouterKey, size_t>> at;
  size_t count = 0;
  for (const Flow& f : flows) count += f.routers.size();
  at.reserve(count);
  for (size_t f = 0; f < flows.size(); ++f)
    for (const auto& router : flows[f].routers) at.emplace_back(router.first, f);
  std::ranges::sort(at);
  std::vector<algo::Edge> edges;
  size_t most = size_t(1) << 20;  // before what was added twice goes
  for (size_t begin = 0, end = 0; begin < at.size(); begin = end) {
    while (end < at.size() && at[end].first == at[begin].first) ++end;
    for (size_t i = begin; i < end; ++i)
      for (size_t j = i + 1; j < end; ++j) edges.emplace_back(at[i].second, at[j].second);
    if (edges.size() < most) continue;
    sort_once(edges);
    most = std::max(most, 2 * edges.size());
  }
  sort_once(edges);
  return edges;
}

}  // namespace

bool color_flows(FlowPlan& plan, const Machine& machine, Diag& diag) {
  constexpr int kRounds = 100;
  std::vector<bool> early;
  for (const Flow& f : plan.flows) early.push_back(f.switches);
  const std::vector<algo::Edge> edges = neighbours(plan.flows);
  std::vector<int> chosen = algo::color_graph(plan.flows.size(), edges, early);
  const auto [colors, switchable] = color_palette(machine);
  const algo::ColorLimits limits{colors.size(), switchable};
  if (!algo::within(chosen, early, limits)) {
    std::vector<int> fewer = chosen;
    if (algo::reduce_colors(edges, early, limits, kRounds, fewer)) chosen = std::move(fewer);
  }
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

// The work of a group as mapping will see it (mapping/instances.cpp), without its constants.
#include "compiler/passes/group_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/row_code.h"
#include "compiler/kernels/kind.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using mapping::RegionCost;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr RegionCost kNone{kNever, kNever, kNever};
// Intervals whose estimates differ by no more are the same, and so are latencies.
constexpr double kAlike = 1.02, kAlikeLatency = 1.1;

std::optional<kernels::Work> work_of(const Graph& g, std::span<const NodeId> nodes, const Machine& machine) {
  const NodeId front = nodes.front();
  std::string why;
  if (g.node(front).assignment.kernel == autogen::kRowsKernel) {
    autogen::RowGroup rows;
    if (!autogen::make_row_group(g, nodes, rows, why)) return std::nullopt;
    return rows.work(autogen::row_cost(rows, machine));
  }
  std::optional<kernels::Work> work = kernels::work_of(g, front, why);
  if (!work) return work;
  work->kind->add_nodes(g, nodes, machine, *work);
  return work;
}

}  // namespace

RegionCost GroupCosts::of(const autogen::Region& r, double enough) {
  KnownCosts::OfRegion& region = known_.find(r);
  Answer& answer = regions_.try_emplace(&region, Answer{kNone, kNever}).first->second;
  // More than what was enough was the least there is.
  const bool least = answer.cost.interval_cycles > answer.enough && answer.enough < kNever;
  if (!least && answer.enough > enough && answer.cost.interval_cycles > enough)
    answer = {known_.of(r, region, enough), enough};
  return answer.cost;
}

RegionCost GroupCosts::of(const Graph& g, std::span<const NodeId> nodes, double enough) {
  if (g.node(nodes.front()).assignment.kernel == autogen::kRegionKernel) {
    autogen::Region region;
    std::string why;
    return autogen::make_region(g, nodes, region, why) ? of(region, enough) : kNone;
  }
  const std::optional<kernels::Work> work = work_of(g, nodes, known_.machine());
  if (!work) return kNone;
  RegionCost cost = known_.of(*work);
  if (g.node(nodes.front()).assignment.origin != Origin::handwritten) return cost;
  const double more = work->kind->library_cycles(*work, cost.pes > 1);
  cost.interval_cycles += more;
  cost.latency_cycles += more;
  return cost;
}

bool is_faster(const RegionCost& made, const RegionCost& there) {
  if (made.interval_cycles * kAlike < there.interval_cycles) return true;
  return made.interval_cycles <= there.interval_cycles * kAlike &&
         made.latency_cycles * kAlikeLatency < there.latency_cycles;
}

std::string benefit_text(const RegionCost& made, const RegionCost& there, std::string_view what) {
  if (there.interval_cycles == kNever)
    return fmt::format("beneficial: {:.0f} cycles, and no estimate of the {}", made.interval_cycles, what);
  if (made.interval_cycles * kAlike < there.interval_cycles)
    return fmt::format("beneficial by {:.0f} cycles: {:.0f} against {:.0f} of the {}",
                       there.interval_cycles - made.interval_cycles, made.interval_cycles,
                       there.interval_cycles, what);
  return fmt::format("beneficial by {:.0f} cycles of latency: {:.0f} against {:.0f} of the {}",
                     there.latency_cycles - made.latency_cycles, made.latency_cycles, there.latency_cycles,
                     what);
}

double GroupCosts::slowest(const Graph& g) {
  double slowest = 0;
  for (const graph::Group& group : graph::groups(g)) {
    if (g.node(group.nodes.front()).assignment.origin == Origin::host) continue;
    const double cycles = of(g, group.nodes, slowest).interval_cycles;
    if (cycles < kNever) slowest = std::max(slowest, cycles);
  }
  return slowest;
}

RegionCost cost_as(Graph& g, NodeId id, graph::Assignment assignment, GroupCosts& costs) {
  std::swap(g.node(id).assignment, assignment);
  const RegionCost cost = costs.of(g, std::span(&id, 1));
  std::swap(g.node(id).assignment, assignment);
  return cost;
}

}  // namespace cs::passes

// The work of a group as mapping will see it (mapping/instances.cpp), without its constants.
#include "compiler/passes/group_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/kind.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using kernels::Cost;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr Cost kNone{kNever, kNever, kNever};
// Intervals whose estimates differ by no more are the same, and so are latencies.
constexpr double kAlike = 1.02, kAlikeLatency = 1.1;

}  // namespace

Cost GroupCosts::of(const autogen::Region& r, double enough) {
  KnownCosts::OfRegion& region = known_.find(r);
  Answer& answer = regions_.try_emplace(&region, Answer{kNone, kNever}).first->second;
  // More than what was enough was the least there is.
  const bool least = answer.cost.interval_cycles > answer.enough && answer.enough < kNever;
  if (!least && answer.enough > enough && answer.cost.interval_cycles > enough)
    answer = {known_.of(r, region, enough), enough};
  return answer.cost;
}

Cost GroupCosts::of(const Graph& g, std::span<const NodeId> nodes, double enough) {
  std::string why;
  if (kernels::from_loops(g, nodes.front())) {
    autogen::Region region;
    return autogen::make_region(g, nodes, region, why) ? of(region, enough) : kNone;
  }
  const std::optional<kernels::Work> work = kernels::work_of_group(g, nodes, known_.machine(), why);
  if (!work) return kNone;
  Cost cost = known_.of(*work);
  if (g.node(nodes.front()).assignment.origin != Origin::handwritten) return cost;
  const double more = work->kind->library_cycles(*work, cost.pes > 1);
  cost.interval_cycles += more;
  cost.latency_cycles += more;
  return cost;
}

bool is_faster(const Cost& made, const Cost& there) {
  if (made.interval_cycles * kAlike < there.interval_cycles) return true;
  return made.interval_cycles <= there.interval_cycles * kAlike &&
         made.latency_cycles * kAlikeLatency < there.latency_cycles;
}

std::string benefit_text(const Cost& made, const Cost& there, std::string_view what) {
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

Cost cost_as(Graph& g, NodeId id, graph::Assignment assignment, GroupCosts& costs) {
  std::swap(g.node(id).assignment, assignment);
  const Cost cost = costs.of(g, std::span(&id, 1));
  std::swap(g.node(id).assignment, assignment);
  return cost;
}

}  // namespace cs::passes

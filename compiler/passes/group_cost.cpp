// The work of a group as mapping will see it (mapping/instances.cpp), without its constants.
#include "compiler/passes/group_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/expression.h"
#include "compiler/autogen/row_code.h"

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

// The expression of elementwise nodes: a chain of its own, or behind a contraction.
void add_chain(const Graph& g, std::span<const NodeId> nodes, const Machine& machine, kernels::Work& work) {
  const graph::ChainExpr chain = graph::chain_expression(g, nodes, g.node(nodes.back()).outputs[0]);
  int streams = 0;
  for (ValueId leaf : chain.leaves) streams += g.value(leaf).is_constant() ? 0 : 1;
  work.constants = int(chain.leaves.size()) - streams;
  work.chain = autogen::chain_cost(chain.expr, machine);
  work.flops_per_element = 0;
  for (NodeId id : nodes) work.flops_per_element += double(g.flops(id)) / double(work.rows * work.m);
  if (work.kind == kernels::contraction_kind()) return;
  work.operands = streams;
  work.through = streams == 1 && autogen::passes_through(chain.expr, machine);
}

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
  if (work->kind == kernels::contraction_kind()) {
    if (nodes.size() > 1) add_chain(g, nodes.subspan(1), machine, *work);
  } else if (work->kind == kernels::elementwise_kind()) {
    add_chain(g, nodes, machine, *work);
  } else if (work->kind == kernels::rows_kind()) {
    work->row_cost = kernels::library_row_cost(g.node(front).op, machine);
  }
  return work;
}

}  // namespace

RegionCost GroupCosts::of(const autogen::Region& r, double enough) {
  auto known = std::find_if(regions_.begin(), regions_.end(),
                            [&](const Known& k) { return autogen::same_region(k.region, r); });
  if (known == regions_.end()) known = regions_.insert(regions_.end(), {r, kNone, kNever});
  // More than what was enough was the least there is.
  const bool least = known->cost.interval_cycles > known->enough && known->enough < kNever;
  if (!least && known->enough > enough && known->cost.interval_cycles > enough) {
    known->cost = mapping::region_cost(r, machine_, enough);
    known->enough = enough;
  }
  return known->cost;
}

RegionCost GroupCosts::of(const kernels::Work& work) {
  const auto known =
      std::find_if(works_.begin(), works_.end(), [&](const auto& c) { return c.first == work; });
  if (known != works_.end()) return known->second;
  works_.emplace_back(work, mapping::work_cost(work, machine_));
  return works_.back().second;
}

namespace {

// The library's product takes more cycles for each vector than the generated one, whose estimate both have:
// its stages are tasks (gemv and gemm in configs/suites/autogen.table.yaml, 1x1 and 8x8 PEs).
RegionCost by_library(RegionCost cost, const kernels::Work& work) {
  constexpr double kOnePe = 9, kSeveral = 40;
  const double more = double(work.rows) * (cost.pes > 1 ? kSeveral : kOnePe);
  cost.interval_cycles += more;
  cost.latency_cycles += more;
  return cost;
}

}  // namespace

RegionCost GroupCosts::of(const Graph& g, std::span<const NodeId> nodes, double enough) {
  if (g.node(nodes.front()).assignment.kernel == autogen::kRegionKernel) {
    autogen::Region region;
    std::string why;
    return autogen::make_region(g, nodes, region, why) ? of(region, enough) : kNone;
  }
  const std::optional<kernels::Work> work = work_of(g, nodes, machine_);
  if (!work) return kNone;
  const bool product = work->kind == kernels::contraction_kind();
  const bool library = g.node(nodes.front()).assignment.origin == Origin::handwritten;
  return product && library ? by_library(of(*work), *work) : of(*work);
}

bool is_faster(const RegionCost& made, const RegionCost& there) {
  if (made.interval_cycles * kAlike < there.interval_cycles) return true;
  return made.interval_cycles <= there.interval_cycles * kAlike &&
         made.latency_cycles * kAlikeLatency < there.latency_cycles;
}

std::string benefit_text(const RegionCost& made, const RegionCost& there, std::string_view what) {
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

RegionCost cost_as(Graph& g, NodeId id, const graph::Assignment& assignment, GroupCosts& costs) {
  graph::Assignment own = std::exchange(g.node(id).assignment, assignment);
  const RegionCost cost = costs.of(g, std::span(&id, 1));
  g.node(id).assignment = std::move(own);
  return cost;
}

}  // namespace cs::passes

// Two threads that miss the same cost both find it, and find the same.
#include "compiler/passes/known_costs.h"

#include <algorithm>

#include "compiler/autogen/loop_key.h"
#include "compiler/mapping/plan.h"

namespace cs::passes {

KnownCosts::OfRegion& KnownCosts::find(const autogen::Region& r) {
  autogen::LoopKey key;
  key.region(r);
  const std::lock_guard lock(mutex_);
  return regions_[key.bytes()];
}

kernels::Cost KnownCosts::of(const autogen::Region& r, OfRegion& known, double enough) {
  std::optional<kernels::RegionCosts> costs;
  {
    const std::lock_guard lock(mutex_);
    costs = known.costs;
  }
  if (!costs || (costs->row.interval_cycles > enough && !costs->any)) {
    costs = kernels::region_costs(r, {machine_, *statements_}, enough);
    const std::lock_guard lock(mutex_);
    if (!known.costs || costs->any) known.costs = costs;
  }
  return costs->row.interval_cycles <= enough ? costs->row : *costs->any;
}

kernels::Cost KnownCosts::of(const kernels::Work& work) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(works_.begin(), works_.end(), [&](const auto& w) { return w.first == work; });
    if (known != works_.end()) return known->second;
  }
  const kernels::Cost cost = mapping::work_cost(work, machine_);
  const std::lock_guard lock(mutex_);
  works_.emplace_back(work, cost);
  return cost;
}

}  // namespace cs::passes

// Two threads that miss the same plans both find them, and find the same.
#include "compiler/mapping/known_plans.h"

#include <algorithm>
#include <utility>

namespace cs::mapping {

KnownPlans::Key KnownPlans::key_of(const Instance& inst, const Sizing& s) {
  return {s.limit.width, s.limit.height, s.forced.width,    s.forced.height, s.most.width, s.most.height,
          s.pes,         s.memory,       int64_t(s.alone), inst.work.n,     inst.work.m};
}

std::optional<KnownPlans::Plans> KnownPlans::find(const Instance& inst, const Sizing& sizing) const {
  const std::lock_guard lock(mutex_);
  const auto list = known_.find(key_of(inst, sizing));
  if (list == known_.end()) return std::nullopt;
  const auto same = std::ranges::find_if(list->second, [&](const Known& k) { return alike(k.instance, inst); });
  return same == list->second.end() ? std::nullopt : std::optional(same->plans);
}

void KnownPlans::add(const Instance& inst, const Sizing& sizing, Plans plans) {
  Known known;
  known.instance = as_compared(inst);
  known.plans = std::move(plans);
  const std::lock_guard lock(mutex_);
  known_[key_of(inst, sizing)].push_back(std::move(known));
}

}  // namespace cs::mapping

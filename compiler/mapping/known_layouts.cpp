// Two threads that miss the same layout both make it, and make the same.
#include "compiler/mapping/known_layouts.h"

#include <algorithm>
#include <utility>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {
constexpr int64_t kMostPes = 1'000'000;  // some hundred bytes each
}

std::shared_ptr<const kernels::Layout> KnownLayouts::find(const Instance& inst) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::find_if(known_, [&](const Known& k) {
    return k.instance.plan.cut == inst.plan.cut && alike(k.instance, inst);
  });
  return same == known_.end() ? nullptr : same->layout;
}

std::shared_ptr<const kernels::Layout> KnownLayouts::of(const Instance& inst) {
  if (auto known = find(inst)) return known;
  std::shared_ptr<const kernels::Layout> made = inst.work.kind->lay_out(inst, inst.plan.cut);
  if (!made) return made;
  Known k;
  k.instance = as_compared(inst);
  k.instance.plan = inst.plan;
  k.layout = made;
  k.pes = int64_t(inst.plan.cut.w) * inst.plan.cut.h;
  const std::lock_guard lock(mutex_);
  pes_ += k.pes;
  known_.push_front(std::move(k));
  for (; pes_ > kMostPes && known_.size() > 1; known_.pop_back()) pes_ -= known_.back().pes;
  return made;
}

}  // namespace cs::mapping

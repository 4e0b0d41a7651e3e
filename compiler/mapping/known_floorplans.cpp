// What costs more than options allow is never chosen, and is no part of a key.
#include "compiler/mapping/known_floorplans.h"

#include <type_traits>
#include <utility>

#include "runtime/support/files.h"

namespace cs::mapping {
namespace {

// 32 digits.
std::string key_of(const FloorplanProblem& p, const FloorplanOptions& o) {
  ContentHash key;
  const auto add = [&](auto... values) {
    static_assert(((std::is_arithmetic_v<decltype(values)> || std::is_enum_v<decltype(values)>) && ...));
    (key.add({reinterpret_cast<const char*>(&values), sizeof values}), ...);
  };
  add(o.seed, o.starts, o.moves, p.width, p.height, p.may_turn, p.pins, p.cost_weight, p.length_weight);
  add(p.kinds.size(), p.kernels.size(), p.wires.size());
  for (const auto& kind : p.kinds) {
    size_t count = 0;
    for (const Alternative& a : kind) {
      if (a.cost > o.max_cost) continue;
      add(a.w, a.h, a.cost);
      ++count;
    }
    add(count);
  }
  for (const int kind : p.kernels) add(kind);
  for (const Wire& w : p.wires) add(w.from, w.to, w.weight);
  return key.wide_text();
}

}  // namespace

KnownFloorplans::Rects KnownFloorplans::rects(const FloorplanProblem& p, const FloorplanOptions& o,
                                              const std::function<Rects()>& search) {
  const std::string key = key_of(p, o);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  Rects found = search();
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(found)).first->second;
}

}  // namespace cs::mapping

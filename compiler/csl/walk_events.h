// Tasks of a walk: which are activated and not blocked, from when on, and whose turn it is (docs/timing.md
// §8).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "compiler/csl/walk_thread.h"

namespace cs::csl {

class WalkEvents {
 public:
  // `data`: words that data tasks wait for are always there, else never. Control wavelets never come.
  WalkEvents(const TileProgram& tile, const Machine& machine, bool data)
      : tile_(tile), start_(WalkCycle(machine.core.task_start_cycles)), data_(data) {
    for (const uint8_t id : tile.activated) activated_ |= bit(id), ready_at_[id % kIds] = start_;
    for (const uint8_t id : tile.blocked) blocked_ |= bit(id);
  }

  void activate(int id, WalkCycle at, WalkCycle not_before = 0) {
    if (id < 0 || (activated_ & bit(id)) != 0) return;
    activated_ |= bit(id);
    later(id, at, not_before);
  }
  void unblock(int id, WalkCycle at, WalkCycle not_before = 0) {
    if (id < 0 || (blocked_ & bit(id)) == 0) return;
    blocked_ &= ~bit(id);
    later(id, at, not_before);
  }
  void block(int id) { blocked_ |= bit(id); }

  // When a task may begin, the core being free from then on; kWalkNever: none is runnable.
  WalkCycle first(WalkCycle free_at) const {
    WalkCycle t = kWalkNever;
    for (const TaskBinding& k : tile_.tasks)
      if (runnable(k)) t = std::min(t, ready(k, free_at));
    return t;
  }
  // The one that begins then: the next in the order of kind and id behind the last one.
  size_t take(WalkCycle t, WalkCycle free_at) {
    size_t best = tile_.tasks.size();
    int least = 0;
    for (size_t i = 0; i < tile_.tasks.size(); ++i) {
      const TaskBinding& k = tile_.tasks[i];
      if (!runnable(k) || ready(k, free_at) > t) continue;
      const int turn = (place(k) - last_ - 1 + kPlaces) % kPlaces;
      if (best == tile_.tasks.size() || turn < least) best = i, least = turn;
    }
    const TaskBinding& k = tile_.tasks[best];
    last_ = place(k);
    if (k.kind == TaskKind::local) activated_ &= ~bit(k.id);
    return best;
  }
  uint64_t signature() const { return activated_ * 0x9E3779B97F4A7C15 + blocked_ * 0xBF58476D1CE4E5B9; }

 private:
  static constexpr int kIds = 64, kPlaces = 4 * kIds;
  static uint64_t bit(int id) { return uint64_t(1) << (id % kIds); }
  static int place(const TaskBinding& k) { return int(k.kind) * kIds + k.id % kIds; }
  void later(int id, WalkCycle at, WalkCycle not_before) {
    WalkCycle& t = ready_at_[size_t(id % kIds)];
    t = std::max({t, at + start_, not_before});
  }
  bool runnable(const TaskBinding& k) const {
    if (k.kind == TaskKind::control || (blocked_ & bit(k.id)) != 0) return false;
    return k.kind == TaskKind::data ? data_ : (activated_ & bit(k.id)) != 0;
  }
  WalkCycle ready(const TaskBinding& k, WalkCycle free_at) const {
    return std::max(free_at, k.kind == TaskKind::data ? 0 : ready_at_[size_t(k.id % kIds)]);
  }

  const TileProgram& tile_;
  WalkCycle start_;
  bool data_;
  uint64_t activated_ = 0, blocked_ = 0;
  std::array<WalkCycle, kIds> ready_at_{};
  int last_ = 0;
};

}  // namespace cs::csl

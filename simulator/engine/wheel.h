// TimeWheel: items due at a cycle, for small numbers (lanes, PEs) that come and go every cycle.
//
// Near items (less than kSpan cycles ahead) lie in one bucket per cycle, with a bit mask that finds the next bucket;
// far ones in a heap, from which they move into the buckets as time comes near. An item may be in the wheel several
// times; who takes it decides whether it still means anything.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/host/device.h"

namespace cs::sim {

class TimeWheel {
 public:
  static constexpr Cycle kSpan = 64;

  // `at` must not lie before the last taken cycle.
  void push(Cycle at, uint32_t item) {
    if (at - base_ < kSpan) {
      buckets_[at % kSpan].push_back(item);
      mask_ |= uint64_t(1) << (at % kSpan);
    } else {
      far_.emplace_back(at, item);
      std::push_heap(far_.begin(), far_.end(), later);
    }
  }

  Cycle next() const {
    Cycle near = kNever;
    if (mask_ != 0) near = base_ + Cycle(std::countr_zero(std::rotr(mask_, int(base_ % kSpan))));
    return far_.empty() ? near : std::min(near, far_.front().first);
  }

  // Moves the clock to `now` (nothing may be due before) and hands out what is due; valid until the next take().
  std::vector<uint32_t>& take(Cycle now) {
    base_ = now;
    while (!far_.empty() && far_.front().first - now < kSpan) {
      auto [at, item] = far_.front();
      std::pop_heap(far_.begin(), far_.end(), later);
      far_.pop_back();
      buckets_[at % kSpan].push_back(item);
      mask_ |= uint64_t(1) << (at % kSpan);
    }
    current_.clear();
    std::swap(current_, buckets_[now % kSpan]);
    mask_ &= ~(uint64_t(1) << (now % kSpan));
    return current_;
  }

 private:
  using Far = std::pair<Cycle, uint32_t>;
  static bool later(const Far& a, const Far& b) { return a > b; }

  Cycle base_ = 0;
  uint64_t mask_ = 0;
  std::array<std::vector<uint32_t>, kSpan> buckets_;
  std::vector<uint32_t> current_;
  std::vector<Far> far_;
};

}  // namespace cs::sim

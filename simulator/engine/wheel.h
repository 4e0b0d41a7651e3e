// TimeWheel: items due at a cycle, for small numbers (lanes, PEs) that come and go every cycle.
//
// Near items (less than kSpan cycles ahead) lie in one bucket per cycle, with a bit mask that finds the next
// bucket; far ones in a heap, from which they move into the buckets as time comes near. An item may be in the
// wheel several times; who takes it decides whether it still means anything. What is due comes sorted and
// without repetition (when it is much, over a bitmap), because neighbours in number are neighbours in memory.
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

  // Moves the clock to `now` (nothing may be due before) and hands out what is due; valid until the next
  // take().
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
    sort_current();
    return current_;
  }

 private:
  using Far = std::pair<Cycle, uint32_t>;
  void sort_current() {
    if (current_.size() < 2) return;
    uint32_t most = *std::max_element(current_.begin(), current_.end());
    if (current_.size() < 32 || most / 64 > 4 * current_.size()) {
      std::sort(current_.begin(), current_.end());
      current_.erase(std::unique(current_.begin(), current_.end()), current_.end());
      return;
    }
    if (bits_.size() <= most / 64) bits_.resize(most / 64 + 1, 0);
    for (uint32_t item : current_) bits_[item / 64] |= uint64_t(1) << (item % 64);
    size_t n = 0;
    for (uint32_t word = 0; word <= most / 64; ++word) {
      for (uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1)
        current_[n++] = word * 64 + uint32_t(std::countr_zero(rest));
      bits_[word] = 0;
    }
    current_.resize(n);
  }
  static bool later(const Far& a, const Far& b) { return a > b; }

  Cycle base_ = 0;
  uint64_t mask_ = 0;
  std::array<std::vector<uint32_t>, kSpan> buckets_;
  std::vector<uint32_t> current_;
  std::vector<uint64_t> bits_;  // all zero between uses
  std::vector<Far> far_;
};

}  // namespace cs::sim

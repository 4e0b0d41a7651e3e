// Time wheels: items (small numbers) due at a cycle.
//
//   TimeWheel   few items of any size (host ports, switch positions): one list per near cycle
//   IndexWheel  dense indices that come and go every cycle (lanes, PEs): one bitmap per near cycle
//
// Near items (less than a span of cycles ahead) lie in one bucket per cycle, with a bit mask that finds the
// next bucket; far ones in a heap, from which they move into the buckets as time comes near. An item may be in
// a wheel several times, for different cycles; who takes it decides whether it still means anything. What is
// due comes sorted and without repetition, because neighbours in number are neighbours in memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/host/device.h"

namespace cs::sim {

// What both have: the clock, which near cycles have something, and the far items.
template <Cycle kSpan>
class WheelClock {
 public:
  Cycle next() const {
    Cycle near = kNever;
    if (mask_ != 0) {
      if constexpr (kSpan == 64) {
        near = base_ + Cycle(std::countr_zero(std::rotr(mask_, int(base_ % kSpan))));
      } else {
        const uint64_t twice = mask_ | mask_ << kSpan;
        near = base_ + Cycle(std::countr_zero(twice >> (base_ % kSpan)));
      }
    }
    return far_.empty() ? near : std::min(near, far_.front().first);
  }

 protected:
  using Far = std::pair<Cycle, uint32_t>;
  static_assert(kSpan == 64 || (kSpan < 32 && (kSpan & (kSpan - 1)) == 0));
  static bool later(const Far& a, const Far& b) { return a > b; }

  // The cycle that a near place stands for.
  Cycle cycle_of(size_t slot) const { return base_ + (Cycle(slot) + kSpan - base_ % kSpan) % kSpan; }
  template <class F>
  void each_far(F&& f) const {
    for (const auto& [at, item] : far_) f(at, item);
  }

  bool is_near(Cycle at) const {
    assert(at >= base_);
    return at - base_ < kSpan;
  }
  void mark(Cycle at) { mask_ |= uint64_t(1) << (at % kSpan); }
  void unmark(Cycle at) { mask_ &= ~(uint64_t(1) << (at % kSpan)); }
  void push_far(Cycle at, uint32_t item) {
    far_.emplace_back(at, item);
    std::push_heap(far_.begin(), far_.end(), later);
  }
  // Moves the clock; `put(cycle, item)` gets what has come near.
  template <class Put>
  void advance(Cycle now, Put&& put) {
    base_ = now;
    while (!far_.empty() && far_.front().first - now < kSpan) {
      const auto [at, item] = far_.front();
      std::pop_heap(far_.begin(), far_.end(), later);
      far_.pop_back();
      put(at, item);
    }
  }

 private:
  Cycle base_ = 0;
  uint64_t mask_ = 0;
  std::vector<Far> far_;
};

class TimeWheel : public WheelClock<64> {
 public:
  // `at` must not lie before the last taken cycle.
  void push(Cycle at, uint32_t item) {
    if (is_near(at))
      put(at, item);
    else
      push_far(at, item);
  }

  // Moves the clock to `now` (nothing may be due before) and hands out what is due; valid until the next
  // take().
  std::vector<uint32_t>& take(Cycle now) {
    advance(now, [this](Cycle at, uint32_t item) { put(at, item); });
    current_.clear();
    std::swap(current_, buckets_[now % 64]);
    unmark(now);
    std::sort(current_.begin(), current_.end());
    current_.erase(std::unique(current_.begin(), current_.end()), current_.end());
    return current_;
  }

  // f(cycle, item) of all that is in it, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (size_t slot = 0; slot < buckets_.size(); ++slot)
      for (uint32_t item : buckets_[slot]) f(cycle_of(slot), item);
    each_far(f);
  }

 private:
  void put(Cycle at, uint32_t item) {
    buckets_[at % 64].push_back(item);
    mark(at);
  }

  std::array<std::vector<uint32_t>, 64> buckets_;
  std::vector<uint32_t> current_;
};

template <Cycle kSpan>
class IndexWheel : public WheelClock<kSpan> {
 public:
  // Room for indices below n; what is in the wheel stays.
  void grow(size_t n) {
    const size_t words = (n + 63) / 64, sums = (words + 63) / 64;
    std::vector<uint64_t> bits(words * kSpan, 0), summary(sums * kSpan, 0);
    for (size_t slot = 0; slot < kSpan; ++slot) {
      std::copy_n(bits_.data() + slot * words_, words_, bits.data() + slot * words);
      std::copy_n(summary_.data() + slot * sums_, sums_, summary.data() + slot * sums);
    }
    words_ = words;
    sums_ = sums;
    bits_ = std::move(bits);
    summary_ = std::move(summary);
    due_ = std::make_unique_for_overwrite<uint32_t[]>(n);
  }

  // `at` must not lie before the last taken cycle.
  void push(Cycle at, uint32_t item) {
    if (this->is_near(at)) [[likely]]
      put(at, item);
    else
      this->push_far(at, item);
  }

  // As TimeWheel::take.
  std::span<const uint32_t> take(Cycle now) {
    this->advance(now, [this](Cycle at, uint32_t item) { put(at, item); });
    size_t n = 0;
    this->unmark(now);
    uint64_t* const bits = bits_.data() + (now % kSpan) * words_;
    uint64_t* const summary = summary_.data() + (now % kSpan) * sums_;
    for (size_t s = 0; s < sums_; ++s) {
      for (uint64_t full = std::exchange(summary[s], 0); full != 0; full &= full - 1) {
        const size_t word = s * 64 + size_t(std::countr_zero(full));
        for (uint64_t rest = std::exchange(bits[word], 0); rest != 0; rest &= rest - 1)
          due_[n++] = uint32_t(word * 64) + uint32_t(std::countr_zero(rest));
      }
    }
    return {due_.get(), n};
  }

  // As TimeWheel::for_each.
  template <class F>
  void for_each(F&& f) const {
    for (size_t slot = 0; slot < kSpan; ++slot)
      for (size_t word = 0; word < words_; ++word)
        for (uint64_t rest = bits_[slot * words_ + word]; rest != 0; rest &= rest - 1)
          f(this->cycle_of(slot), uint32_t(word * 64) + uint32_t(std::countr_zero(rest)));
    this->each_far(f);
  }

 private:
  void put(Cycle at, uint32_t item) {
    const size_t slot = at % kSpan;
    uint64_t& word = bits_[slot * words_ + item / 64];
    if (word == 0) {  // otherwise what stands above it is marked already
      summary_[slot * sums_ + item / 4096] |= uint64_t(1) << (item / 64 % 64);
      this->mark(at);
    }
    word |= uint64_t(1) << (item % 64);
  }

  size_t words_ = 0, sums_ = 0;
  std::vector<uint64_t> bits_, summary_;  // per near cycle: items; which words of `bits_` are not zero
  std::unique_ptr<uint32_t[]> due_;       // what take() handed out
};

}  // namespace cs::sim

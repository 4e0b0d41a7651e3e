// Differences of counters between two samples, bins that double.
#include "simulator/report/timeline.h"

#include <algorithm>

namespace cs::sim {

TimelineSampler::TimelineSampler(const Engine& engine, size_t max_bins)
    : engine_(engine), max_bins_(max_bins) {
  for (const TileRect& r : engine.program().rects) pes_ += uint64_t(r.rect.area());
  // Sampling looks at every PE: on large fabrics start with bins that cost little against the simulation.
  while (bin_cycles_ < pes_ / 64) bin_cycles_ *= 2;
  last_ = totals();
}

TimelineSampler::Totals TimelineSampler::totals() const {
  Totals t;
  const auto add = [&](const Rect& rect, auto&& f) {
    for (int y = rect.y; y < rect.y + rect.h; ++y)
      for (int x = rect.x; x < rect.x + rect.w; ++x) f(engine_.stats({x, y}));
  };
  for (const TileRect& r : engine_.program().rects)
    add(r.rect, [&](const PeStats& s) {
      t.time.busy += s.busy;
      for (size_t i = 0; i < s.stalls.size(); ++i) t.time.stalls[i] += s.stalls[i];
    });
  if (!engine_.program().host) return t;
  for (const KernelRow& k : engine_.program().host->kernels) {
    uint64_t busy = 0;
    add(k.rect, [&](const PeStats& s) { busy += s.busy; });
    t.kernel_busy.push_back(busy);
  }
  return t;
}

void TimelineSampler::append(const Totals& now) {
  TimelineBin bin;
  bin.time.busy = now.time.busy - last_.time.busy;
  uint64_t active = bin.time.busy;
  for (size_t i = 0; i < bin.time.stalls.size(); ++i) {
    bin.time.stalls[i] = now.time.stalls[i] - last_.time.stalls[i];
    active += bin.time.stalls[i];
  }
  const uint64_t pe_cycles = (engine_.now() - last_cycle_) * pes_;
  bin.time.idle = pe_cycles > active ? pe_cycles - active : 0;
  for (size_t k = 0; k < now.kernel_busy.size(); ++k)
    bin.kernel_busy.push_back(now.kernel_busy[k] - last_.kernel_busy[k]);
  bins_.push_back(std::move(bin));
}

void TimelineSampler::merge() {
  const auto plus = [](TimelineBin& a, const TimelineBin& b) {
    a.time.busy += b.time.busy;
    a.time.idle += b.time.idle;
    for (size_t i = 0; i < a.time.stalls.size(); ++i) a.time.stalls[i] += b.time.stalls[i];
    for (size_t k = 0; k < a.kernel_busy.size(); ++k) a.kernel_busy[k] += b.kernel_busy[k];
  };
  for (size_t i = 0; 2 * i < bins_.size(); ++i) {
    if (i > 0) bins_[i] = std::move(bins_[2 * i]);
    if (2 * i + 1 < bins_.size()) plus(bins_[i], bins_[2 * i + 1]);
  }
  bins_.resize((bins_.size() + 1) / 2);
  bin_cycles_ *= 2;
}

Cycle TimelineSampler::sample() {
  if (engine_.now() >= last_cycle_ + bin_cycles_) {
    Totals now = totals();
    append(now);
    last_ = std::move(now);
    last_cycle_ = engine_.now();
    if (bins_.size() >= max_bins_) merge();
  }
  return last_cycle_ + bin_cycles_;
}

Timeline TimelineSampler::finish() {
  if (engine_.now() > last_cycle_) {
    append(totals());
    last_cycle_ = engine_.now();
  }
  return {bin_cycles_, bins_};
}

}  // namespace cs::sim

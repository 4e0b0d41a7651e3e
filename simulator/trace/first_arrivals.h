// FirstArrivals: when the first wavelet reached the core of each PE. Before that a kernel that lives on its
// input has nothing of a sample to work on, however early its tasks were started to wait for it.
#pragma once

#include <algorithm>
#include <vector>

#include "simulator/engine/trace.h"

namespace cs::sim {

class FirstArrivals : public TraceSink {
 public:
  FirstArrivals(int fabric_width, int fabric_height)
      : width_(fabric_width), first_(size_t(fabric_width) * size_t(fabric_height), kNever) {}

  void task(const TaskEvent&) override {}
  void stall(const StallEvent&) override {}
  void wavelet(const WaveletEvent& e) override {
    if ((e.to & port_bit(Port::ramp)) == 0) return;
    Cycle& first = first_[size_t(e.pe.y) * size_t(width_) + size_t(e.pe.x)];
    first = std::min(first, e.cycle);
  }

  // Earliest of a rectangle, kNever if none.
  Cycle first(const Rect& r) const {
    Cycle earliest = kNever;
    for (int y = r.y; y < r.y + r.h; ++y)
      for (int x = r.x; x < r.x + r.w; ++x)
        earliest = std::min(earliest, first_[size_t(y) * size_t(width_) + size_t(x)]);
    return earliest;
  }

 private:
  int width_;
  std::vector<Cycle> first_;
};

}  // namespace cs::sim

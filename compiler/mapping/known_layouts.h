// What lies on the PEs of rectangles that were laid out before: attempts to place a network, its fallbacks
// and other forms mostly have the same kernels on the same rectangles.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// May be used by several threads. Keeps the newest ones, so many PEs of them.
class KnownLayouts {
 public:
  // Of the instance on the rectangle of its plan; null of kernels that have none.
  std::shared_ptr<const kernels::Layout> of(const Instance&);

 private:
  struct Known {
    Instance instance;  // what alike() compares, and its cut
    std::shared_ptr<const kernels::Layout> layout;
    int64_t pes = 0;
  };
  std::shared_ptr<const kernels::Layout> find(const Instance&);

  std::mutex mutex_;
  std::deque<Known> known_;  // the newest in front
  int64_t pes_ = 0;          // of all of them
};

}  // namespace cs::mapping

// Regions of routers that ways may pass: between two of them there is none, so that no search need look for it.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

class Regions {
 public:
  // Those that are not blocked now, however many wavelets their links carry. As flows are added there are fewer: what
  // is parted stays so.
  explicit Regions(const Avoid&);
  // No branch leads from the flow to any router of the rectangle.
  bool part(const Flow&, const Rect& target) const;
  // The router is of a region of which some router of the rectangle is.
  bool join(Coord, const Rect& target) const;

 private:
  uint32_t of(Coord c) const {  // 0: of none
    return fabric_.contains(c) ? region_[size_t(c.y) * size_t(fabric_.width) + size_t(c.x)] : 0;
  }

  Extent fabric_;
  std::vector<uint32_t> region_;  // by router, in rows
};

}  // namespace cs::mapping

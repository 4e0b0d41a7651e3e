// Ways at the lowest price: where many streams want the same links, each link costs more the more it is
// wanted, until those that can go elsewhere do (negotiated congestion: McMurchie and Ebeling, PathFinder,
// FPGA 1995).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

// What a link costs a stream, in links that nobody else wants.
class LinkPrices {
 public:
  // No link had better carry more than `most_wavelets` of several streams.
  LinkPrices(const Extent& fabric, double most_wavelets);
  double price(const LinkLoads&, Coord from, Port link, double wavelets) const;
  // A round is over: links of these flows that carry too much cost more from now on.
  void raise(const LinkLoads&, const std::vector<const Flow*>& crowded);

 private:
  Extent fabric_;
  double most_wavelets_;
  double sharing_;              // how much it counts that a link would carry too much now
  std::vector<float> history_;  // by router, in rows, by link: how much it carried too much before
};

// Keeps what it needs for every router from one search to the next.
class PricedSearch {
 public:
  explicit PricedSearch(const Extent& fabric);
  // As search_cores, but by the cheapest branch for so many wavelets.
  std::optional<Coord> to_core(Flow& f, const Rect& target, const Avoid&, const LinkPrices&, const LinkLoads&,
                               double wavelets);

 private:
  size_t index(Coord c) const { return size_t(c.y) * size_t(fabric_.width) + size_t(c.x); }

  Extent fabric_;
  uint32_t search_ = 0;
  struct Met {
    uint32_t search = 0;  // the last one that met it; the others are of that search
    float price = 0;      // of the cheapest way there that is known; less than 0: the flow's own router
    Port came_by = Port::ramp;  // the side on which that enters
  };
  std::vector<Met> met_;  // by router, in rows
};

}  // namespace cs::mapping

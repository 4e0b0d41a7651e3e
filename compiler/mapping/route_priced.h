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
  struct Task {
    Flow& flow;
    const Rect& target;
    Port last;  // by which the flow leaves the PE of the target where it ends
    const LinkPrices& prices;
    const LinkLoads& loads;
    double wavelets = 0;
  };
  explicit PricedSearch(const Extent& fabric);
  // As search_branch to a PE of the target, but by the cheapest branch for so many wavelets: round routers that are not
  // calm if there is a way, else round full ones. One that is not found among kPatience routers passes others than calm
  // ones where that is much shorter, and may cost more than the cheapest one, which is found after all those round it
  // where most links are used: kEager times as much, and if that takes long too, which is done only if it `must` be,
  // twice that.
  std::optional<Coord> to_target(const Task&, const Avoid& calm, const Avoid& full, bool must);

 private:
  static constexpr size_t kPatience = 1000;
  static constexpr float kEager = 1.5;
  struct Found {
    std::optional<Coord> end;
    bool gave_up = false;  // after so many routers
  };
  // The cheapest way, if it is found among few routers.
  Found search(const Task& t, const Avoid& avoid) { return search(t, avoid, avoid, 1, kPatience); }
  // Routers that are not `calm` cost more; the steps that are left count `eager` times.
  Found search(const Task&, const Avoid& calm, const Avoid& full, float eager, size_t patience);
  // No way leads to the target, as is often so for a color. Looks at all routers from where there is one, each in a
  // small part of the time that a search takes.
  bool is_enclosed(const Task&, const Avoid&);
  size_t index(Coord c) const { return size_t(c.y) * size_t(fabric_.width) + size_t(c.x); }

  Extent fabric_;
  uint32_t search_ = 0;
  struct Met {
    uint32_t search = 0;  // the last one that met it; the others are of that search
    float price = 0;      // of the cheapest way there that is known; less than 0: the flow's own router
    Port came_by = Port::ramp;  // the side on which that enters
    bool done = false;          // its neighbours were met
  };
  std::vector<Met> met_;         // by router, in rows
  std::vector<uint32_t> leads_;  // the last search in which a way from there was seen to lead to the target
};

}  // namespace cs::mapping

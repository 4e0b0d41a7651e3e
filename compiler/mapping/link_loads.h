// Wavelets of a sample that streams bring over each link of the fabric: a link passes one a cycle, whatever
// their colors are.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

inline constexpr size_t kRouterLinks = 4;
static_assert(size_t(Port::ramp) == kRouterLinks, "the ramp comes behind the links");

class LinkLoads {
 public:
  explicit LinkLoads(const Extent& fabric);
  void add(const Flow&, double wavelets);
  // Of the flows that were added; nothing leaves the fabric. Asked for every link that a search looks at.
  double at(Coord from, Port link) const {
    return link == Port::ramp || !fabric_.contains(from) ? 0 : loads_[kRouterLinks * index(from) + size_t(link)];
  }
  // Of the links that a flow takes, the most.
  double most(const Flow&) const;

 private:
  size_t index(Coord c) const { return size_t(c.y) * size_t(fabric_.width) + size_t(c.x); }

  Extent fabric_;
  std::vector<double> loads_;  // by router, in rows, by port
};

inline bool Avoid::crowded(Coord from, Port link) const {
  const double others = loads != nullptr ? loads->at(from, link) : 0;
  if (others <= 0 || others + wavelets <= most_wavelets) return false;
  least_refused = std::min(least_refused, others + wavelets);
  return true;
}

// Of a sample: its words, and the control wavelets behind the turns of the PEs that send them.
double wavelets_of(const Parts&, const Stream&);

struct BusiestLink {
  double wavelets = 0;
  std::vector<std::string> streams;  // that share it
};
// Of the streams between instances and those of the host, when they have routes.
BusiestLink busiest_link(const Parts&, const FlowPlan&, const Extent& fabric);

}  // namespace cs::mapping

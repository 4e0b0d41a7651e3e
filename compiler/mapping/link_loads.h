// Wavelets of a sample that each link of the fabric carries: one a cycle, whatever their colors are. Streams bring
// them, and kernels and buffers, which send inside what they take and make (inside_loads.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

inline constexpr size_t kRouterLinks = 4;
static_assert(size_t(Port::ramp) == kRouterLinks, "the ramp comes behind the links");

// Of a sample, over the links of a flow: all of them, but where PEs of a line send in turns only those of the PEs up to
// there.
struct Wavelets {
  double all = 0;
  Rect senders = {};  // in turns, a row or a column; none: one PE sends
  Wavelets(double wavelets) : all(wavelets) {}
  Wavelets(double wavelets, const Rect& line) : all(wavelets), senders(line) {}
  Wavelets operator-() const { return {-all, senders}; }
  double from(Coord c) const {
    if (!senders.contains(c)) return all;
    // Whole ones: what is added and taken away again leaves nothing.
    return std::round(all * double(c.x - senders.x + c.y - senders.y + 1) / double(senders.w + senders.h - 1));
  }
};
// Of a stream: its words, and the control wavelets behind the turns of the PEs that send them.
Wavelets wavelets_of(const Parts&, const Stream&);

class LinkLoads {
 public:
  explicit LinkLoads(const Extent& fabric);
  void add(const Flow&, const Wavelets&);
  // Where its links do not carry the same.
  void add(const Flow&, const std::function<double(Coord from, Port link)>& wavelets);
  // Of the flows that were added; nothing leaves the fabric. Asked for every link that a search looks at.
  double at(Coord from, Port link) const {
    return link == Port::ramp || !fabric_.contains(from) ? 0 : loads_[kRouterLinks * index(from) + size_t(link)];
  }
  // Of the links between PEs that a flow takes, the one that carries most.
  struct Fullest {
    double wavelets = 0;
    RouterKey from = {};  // if it carries any
  };
  Fullest fullest(const Flow&) const;

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

// What kernels send inside their rectangles, their feeders and collectors: the flows of a plan that are no streams.
LinkLoads inside_loads(const Parts&, const FlowPlan&, const Extent& fabric);

struct BusiestLink {
  double wavelets = 0;
  std::vector<std::string> flows;  // that share it
};
// Of those that streams take, between instances and of the host, when they have routes.
BusiestLink busiest_link(const Parts&, const FlowPlan&, const Extent& fabric);

}  // namespace cs::mapping

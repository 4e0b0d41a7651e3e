// Branches of a flow: from where it begins to a PE, to all PEs of a line, or off the fabric.
//
// In dimension order, x first (y first where x first would meet the flow itself); paths of one flow share
// their beginning and form a tree. Where links would carry more wavelets than the network has cycles, where
// many flows pass a router already, and where dimension order does not lead, the shortest branch that goes
// round (route_search.cpp). Streams that share links although others are free look for other ways in rounds, in which
// links have prices (route_priced.h).
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/mapping/host_sites.h"
#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/route_priced.h"
#include "compiler/mapping/route_regions.h"

namespace cs::mapping {

// To a PE in the same row or column: the link by which a way there begins; x first.
Port direction(Coord from, Coord to);
RouteConfig fixed_route(PortSet rx, PortSet tx);
void add_output(RouteConfig&, Port);
// The flow goes as `way` does from now on; of which stream it is stays.
void take_way(Flow&, Flow way);

// ---- what searches have in common (route_search.cpp)

// A router that takes from its own core in turns has only a part of the stream, unless nobody behind it adds
// to it: its outputs lead to the next PE whose turn it is.
bool has_whole_stream(const Flow& f, RouterKey key, const RouteConfig& config);
bool may_leave_by(const RouteConfig&, Port link);
// Steps from there to the rectangle if nothing is in the way.
int steps_to(const Rect&, Coord);
// At any PE of the rectangle, which the flow leaves by `last`.
Goal inside(const Rect&, Port last);
// If the flow passes the goal already, it ends there too.
std::optional<Coord> end_where_it_passes(Flow&, const Goal&);
// From the flow to `end`, which it leaves by `last`; `came_by`: the side on which each router of the branch is entered.
void add_branch(Flow&, Coord end, Port last, const std::function<Port(Coord)>& came_by);
// As search_branch, to the core of any PE of the rectangle.
std::optional<Coord> search_cores(Flow& f, const Rect& target, const Avoid&);

class Paths {
 public:
  // No router is passed by more than `most` flows, if possible by half as many; if possible no link carries
  // more than `most_wavelets` of several streams.
  Paths(const Extent& fabric, int most, double most_wavelets);
  // Before any stream: what links carry without them.
  void begin_with(LinkLoads loads) { loads_ = std::move(loads); }
  // The flow is complete: others go round the routers that many have passed, and round links with many
  // wavelets.
  void add(const Flow&, const Wavelets&);
  // As if it had never been added, to find another way.
  void remove(const Flow&, const Wavelets&);
  // Wavelets of the link of this flow that carries most.
  double worst(const Flow& f) const { return loads_.fullest(f).wavelets; }
  // The router from which that link leads.
  RouterKey fullest(const Flow& f) const { return loads_.fullest(f).from; }
  // Whether that is too many, and not of this flow alone, which has so many.
  bool is_crowded(const Flow& f, double wavelets) const {
    return worst(f) > std::max(most_wavelets_, wavelets);
  }
  // So many wavelets more than it had better carry would be on one of its links, were they to go by this flow as well.
  double over(const Flow& f, double wavelets) const {
    return std::max(0.0, worst(f) + wavelets - std::max(most_wavelets_, wavelets));
  }
  // Ways from now on are for so many wavelets of a sample.
  void carry(double wavelets) { wavelets_ = wavelets; }
  // From now on ways are the cheapest ones, no longer those in dimension order: rounds in which streams that share
  // links look for others.
  void begin_rounds();
  bool in_rounds() const { return prices_.has_value(); }
  void end_round(const std::vector<const Flow*>& crowded) { prices_->raise(loads_, crowded); }
  // From now on ways pass only routers where no flow has this color; -1: all. In rounds with little effort only those
  // that are found among a few thousand routers: most colors have none or a long one.
  enum class Effort : uint8_t { little, any };
  void only(int color, Effort effort = Effort::any) { color_ = color, effort_ = effort; }
  bool free(const Flow&, int color) const;
  // What was added so far stays. Ways over others, from now on or no longer, also pass routers where the color is that
  // of a flow that was added later.
  void keep_these() { kept_flows_at_ = flows_at_, kept_colors_at_ = colors_at_; }
  void over_others(bool over) { over_others_ = over; }
  // Routers of the flow where another has this color.
  std::vector<RouterKey> taken(const Flow&, int color) const;
  bool full(Coord c) const { return avoid(most_).blocks(c); }
  // Between which routers there is any way.
  Regions regions() const { return Regions(avoid(most_)); }

  bool to_pe(Flow&, Coord from, Coord to) const;
  bool to_line(Flow&, Coord from, const Rect& line) const;
  // In dimension order, where few flows are.
  bool to_edge(Flow&, Coord from, const Site&) const;
  // In rounds, by the cheapest way.
  bool to_site(Flow&, const Site&) const;
  // Round whatever is in the way, to the nearest of these sites.
  std::optional<Site> to_some_edge(Flow&, const std::vector<Site>&) const;

 private:
  bool connect(Flow&, Coord from, Coord to, Port last, const Avoid&) const;
  bool by_price(Flow&, const Rect& target, Port last) const;
  bool passes(const Flow&, Coord from, Coord to, bool x_first, const Avoid&) const;
  bool to_core(Flow&, const Rect& target, const Avoid&) const;
  bool line_from(Flow&, Coord from, const Rect& line, const Avoid&) const;
  Avoid avoid(int most) const {
    Avoid a{fabric_, over_others_ ? &kept_flows_at_ : &flows_at_, most,
            over_others_ ? &kept_colors_at_ : &colors_at_, color_};
    a.seen = &seen_;
    return a;
  }
  Avoid within(double more) const;  // routers with many flows, links with so many times the wavelets
  // What to avoid, from the most to the least.
  std::vector<Avoid> wishes() const;
  // The first of them with which this succeeds. Not tried where all that was in the way still is.
  bool as_wished(const std::function<bool(const Avoid&)>&) const;
  size_t at(RouterKey k) const { return size_t(k.y) * size_t(fabric_.width) + size_t(k.x); }

  Extent fabric_;
  int calm_, most_;
  int color_ = -1;
  Effort effort_ = Effort::any;
  struct Known {
    std::optional<Regions> regions;
    int added = 0;  // flows when they were found
  };

  std::vector<int> flows_at_;  // by router, in rows
  std::vector<uint32_t> colors_at_;
  std::vector<int> kept_flows_at_;
  std::vector<uint32_t> kept_colors_at_;
  bool over_others_ = false;
  LinkLoads loads_;
  int added_ = 0;  // flows
  // By color and by how many flows a router may have; while no flow of this color leaves its way. (One of another color
  // may have been one too many for a router; ways that look for calm ones do without that one.)
  mutable std::map<std::pair<int, int>, Known> regions_;
  mutable std::vector<uint8_t> seen_;  // by the search that is under way
  double wavelets_ = 0, most_wavelets_;
  std::optional<LinkPrices> prices_;  // in rounds
  mutable std::optional<PricedSearch> search_;
};

}  // namespace cs::mapping

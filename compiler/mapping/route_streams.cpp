// One stream after the other: its tree of paths, and its place at the edge.
#include "compiler/mapping/route_streams.h"

#include <algorithm>
#include <bit>
#include <compare>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "compiler/mapping/route_moves.h"
#include "compiler/mapping/route_rounds.h"

namespace cs::mapping {

namespace {

struct Trial {
  Flow flow;
  std::optional<Site> site;  // if it comes from the host or goes there
  bool late = false;         // the port there becomes slower than the network is anyway
  double over = 0;           // in rounds: wavelets that one of its links would carry too many
  // The better one is less.
  auto rank() const { return std::tuple(late, over, flow.routers.size()); }
};

constexpr double kCarried =
    0.9;  // of the cycles of a sample, the wavelets of a link that several streams share

class Router {
 public:
  Router(const Parts& parts, const Extent& fabric, const Machine& machine, FlowPlan& plan, Diag& diag)
      : parts_(parts),
        fabric_(fabric),
        plan_(plan),
        diag_(diag),
        sites_(parts, fabric, machine),
        paths_(fabric, machine.router.colors, kCarried * sites_.anyway()),
        palette_(color_palette(machine)) {
    paths_.begin_with(inside_loads(parts, plan, fabric));
    for (const Flow& f : plan.flows) paths_.add(f, 0);
    paths_.keep_these();
    plan.of_stream.assign(parts.streams.size(), -1);
  }

  bool run() {
    for (size_t s = 0; diag_.ok() && s < parts_.streams.size(); ++s) {
      if (!parts_.streams[s].takers.empty()) keep(s, route(parts_.streams[s]));
    }
    if (diag_.ok()) negotiate();
    return diag_.ok();
  }

  // Those that may have few colors choose first.
  bool run_in_colors(InTheWay in_the_way) {
    std::vector<size_t> order(parts_.streams.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_partition(order.begin(), order.end(), [&](size_t s) { return in_turns(parts_.streams[s]); });
    if (!all_in_colors({order.begin(), order.end()}, in_the_way)) return false;
    in_colors_ = true;
    negotiate();
    for (size_t p = 0; p < plan_.ports.size(); ++p)
      plan_.ports[p].color = uint8_t(plan_.flows[size_t(plan_.port_flow[p])].color);
    return true;
  }

 private:
  bool in_turns(const Stream& s) const {
    return s.producer >= 0 && parts_.instances[size_t(s.producer)].in_turns();
  }

  void keep(size_t index, std::optional<Trial> found) {
    const Stream& s = parts_.streams[index];
    if (!found) {
      diag_.error_at(s.name, "no route was found for this stream",
                     fmt::format("it has {} takers; a larger --fabric leaves more room", s.takers.size()));
      return;
    }
    if (plan_.of_stream[index] >= 0) return keep_again(index, std::move(*found));
    const int f = int(plan_.flows.size());
    found->flow.name = s.name;
    found->flow.stream = int(index);
    plan_.of_stream[index] = f;
    paths_.add(found->flow, wavelets_of(parts_, s));
    plan_.flows.push_back(std::move(found->flow));
    if (!found->site) return;
    const bool input = s.producer < 0;
    plan_.ports.push_back({input ? s.port_in : s.port_out, input, found->site->side, found->site->position, 0});
    plan_.port_flow.push_back(f);
    sites_.take(*found->site, s.words, input);
    site_of_.emplace(index, *found->site);
  }

  void keep_again(size_t index, Trial found) {
    Flow& flow = flow_of(index);
    take_way(flow, std::move(found.flow));
    paths_.add(flow, wavelets_of(parts_, parts_.streams[index]));
  }

  void negotiate() {
    const auto find = [this](size_t s, bool far) -> std::optional<Flow> {
      const Stream& stream = parts_.streams[s];
      std::optional<Trial> trial = in_colors_ ? in_some_color(stream, far) : route(stream);
      return trial ? std::optional(std::move(trial->flow)) : std::nullopt;
    };
    const Rounds::Colors colors = in_colors_ ? Rounds::Colors::given : Rounds::Colors::none;
    Rounds(parts_, plan_, paths_, sites_.anyway(), colors, find).run();
  }

  Flow& flow_of(size_t stream) { return plan_.flows[size_t(plan_.of_stream[stream])]; }

  // ---- with a color

  bool all_in_colors(std::deque<size_t> left, InTheWay in_the_way) {
    Moves moves(parts_.streams.size());
    while (!left.empty() && diag_.ok()) {
      const size_t s = left.front();
      left.pop_front();
      const Stream& stream = parts_.streams[s];
      if (stream.takers.empty()) continue;
      std::optional<Trial> found = in_some_color(stream, true);
      if (!found && in_the_way == InTheWay::moves) found = over_others(stream, moves, left);
      keep(s, std::move(found));
    }
    return diag_.ok();
  }
  // By the way of others, in the color in which the streams in the way are those that were moved least; they are `left`
  // from now on.
  std::optional<Trial> over_others(const Stream& s, Moves& moves, std::deque<size_t>& left) {
    std::optional<Trial> best;
    std::vector<size_t> in_the_way;
    double least = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < (in_turns(s) ? palette_.switchable : palette_.colors.size()); ++k) {
      const int color = palette_.colors[k];
      paths_.only(color);
      paths_.over_others(true);
      std::optional<Trial> trial = route(s);
      paths_.over_others(false);
      paths_.only(-1);
      if (!trial) continue;
      std::vector<size_t> others = streams_at(plan_, paths_.taken(trial->flow, color), color);
      const double cost = moves.cost(others);
      if (cost >= least) continue;
      least = cost, best = std::move(trial), in_the_way = std::move(others);
      best->flow.color = color;
      if (least <= moves.least()) break;
    }
    moves.add(in_the_way);
    for (const size_t other : in_the_way) {
      paths_.remove(flow_of(other), wavelets_of(parts_, parts_.streams[other]));
      flow_of(other).routers.clear();
      left.push_back(other);
    }
    return best;
  }
  // The usual way if a color is free on it, else the best one of all colors: in rounds, as `far` as it may be or not.
  std::optional<Trial> in_some_color(const Stream& s, bool far) {
    std::optional<Trial> best = route(s);
    if (best && !best->late && give_color(best->flow)) return best;
    const Trial usual = best ? std::move(*best) : Trial{};
    best = in_best_color(s, usual, Paths::Effort::little);
    return best || !paths_.in_rounds() || !far ? best : in_best_color(s, usual, Paths::Effort::any);
  }
  std::optional<Trial> in_best_color(const Stream& s, const Trial& usual, Paths::Effort effort) {
    constexpr double kGoodEnough = 1.25;
    std::optional<Trial> best;
    const auto is_good_enough = [&usual](const Trial& t) {
      return !t.late && t.over <= usual.over &&
             double(t.flow.routers.size()) <= kGoodEnough * double(usual.flow.routers.size());
    };
    for (size_t k = 0; k < (in_turns(s) ? palette_.switchable : palette_.colors.size()); ++k) {
      const int color = palette_.colors[k];
      paths_.only(color, effort);
      std::optional<Trial> trial = route(s);
      paths_.only(-1);
      if (!trial || !paths_.free(trial->flow, color) || (best && best->rank() <= trial->rank())) continue;
      best = std::move(trial);
      best->flow.color = color;
      if (is_good_enough(*best)) break;
    }
    return best;
  }
  bool give_color(Flow& f) const {
    const size_t have = f.switches ? palette_.switchable : palette_.colors.size();
    for (size_t k = 0; k < have; ++k) {
      if (!paths_.free(f, palette_.colors[k])) continue;
      f.color = palette_.colors[k];
      return true;
    }
    return false;
  }

  // ---- ways

  std::optional<Trial> route(const Stream& s) {
    const double wavelets = wavelets_of(parts_, s).all;
    paths_.carry(wavelets);
    std::optional<Trial> found = s.producer >= 0 ? from_instance(s) : from_host(s);
    if (found && paths_.in_rounds()) found->over = paths_.over(found->flow, wavelets);
    return found;
  }

  bool to_instances(const Stream& s, Flow& f, Coord from) const {
    return std::all_of(s.takers.begin(), s.takers.end(), [&](const Taker& t) {
      if (t.instance < 0) return true;
      const Instance& taker = parts_.instances[size_t(t.instance)];
      return taker.has_line(t.operand) ? paths_.to_line(f, from, taker.line(t.operand))
                             : paths_.to_pe(f, from, taker.entry(t.operand));
    });
  }

  static Rect target(const Instance& taker, size_t operand) {
    if (taker.has_line(operand)) return taker.line(operand);
    const Coord entry = taker.entry(operand);
    return {entry.x, entry.y, 1, 1};
  }

  bool lead_to_takers(const Regions& regions, Coord from, const Stream& s) const {
    return std::ranges::all_of(s.takers, [&](const Taker& t) {
      return t.instance < 0 || regions.join(from, target(parts_.instances[size_t(t.instance)], t.operand));
    });
  }

  std::optional<Trial> from_instance(const Stream& s) const {
    const Instance& producer = parts_.instances[size_t(s.producer)];
    Trial t;
    set_turns(producer, t.flow);
    if (!to_instances(s, t.flow, producer.exit())) return std::nullopt;
    if (!s.port_out.empty() && !to_host(s, t, producer.exit())) return std::nullopt;
    return t;
  }

  // The best site that has a way in dimension order, else the nearest one that any way leads to: first of those that
  // make nothing slower, then of all.
  bool to_host(const Stream& s, Trial& t, Coord exit) const {
    if (paths_.in_rounds()) return paths_.to_site(t.flow, *(t.site = site_of(s)));
    if (has_site(s)) return to_one_of({site_of(s)}, t, exit);
    std::vector<Site> sites = sites_.list(exit, s.words, false);
    const auto first_late =
        std::ranges::find_if(sites, [&](const Site& site) { return !sites_.in_time(site, s.words, false); });
    const std::vector<Site> late(first_late, sites.end());
    sites.erase(first_late, sites.end());
    if (to_one_of(sites, t, exit)) return true;
    t.late = true;
    return to_one_of(late, t, exit);
  }
  bool to_one_of(const std::vector<Site>& sites, Trial& t, Coord exit) const {
    for (const Site& site : sites) {
      if (!paths_.to_edge(t.flow, exit, site)) continue;
      t.site = site;
      return true;
    }
    if (!sites.empty()) t.site = paths_.to_some_edge(t.flow, sites);
    return t.site.has_value();
  }

  // Where a stream of the host was once kept, it stays.
  bool has_site(const Stream& s) const { return site_of_.contains(size_t(&s - parts_.streams.data())); }
  const Site& site_of(const Stream& s) const { return site_of_.at(size_t(&s - parts_.streams.data())); }

  std::optional<Trial> from_site(const Stream& s, const Site& site) const {
    if (paths_.full(site.pe)) return std::nullopt;
    Trial t;
    t.flow.routers = {{RouterKey{site.pe.y, site.pe.x}, fixed_route(port_bit(site.side), 0)}};
    if (!to_instances(s, t.flow, site.pe)) return std::nullopt;
    t.site = site;
    return t;
  }

  std::optional<Trial> from_host(const Stream& s) const {
    if (has_site(s)) return from_site(s, site_of(s));
    const Taker& first = s.takers.front();
    const Coord entry = parts_.instances[size_t(first.instance)].entry(first.operand);
    std::optional<Regions> regions;  // known when the best site has no way: most of the others have none
    for (const Site& site : sites_.list(entry, s.words, true)) {
      if (paths_.full(site.pe) || (regions && !lead_to_takers(*regions, site.pe, s))) continue;
      if (std::optional<Trial> found = from_site(s, site)) return found;
      if (!regions) regions.emplace(paths_.regions());
    }
    return std::nullopt;
  }

  const Parts& parts_;
  const Extent fabric_;
  FlowPlan& plan_;
  Diag& diag_;
  HostSites sites_;
  Paths paths_;
  std::map<size_t, Site> site_of_;  // by stream of the host
  const Palette palette_;
  bool in_colors_ = false;
};

}  // namespace

bool route_streams(const Parts& parts, const Extent& fabric, const Machine& machine, FlowPlan& plan,
                   Diag& diag) {
  return Router(parts, fabric, machine, plan, diag).run();
}

bool route_streams_in_colors(const Parts& parts, const Extent& fabric, const Machine& machine, InTheWay in_the_way,
                             FlowPlan& plan, Diag& diag) {
  return Router(parts, fabric, machine, plan, diag).run_in_colors(in_the_way);
}

}  // namespace cs::mapping

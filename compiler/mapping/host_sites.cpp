// Sites in the order of what crossing there costs.
#include "compiler/mapping/host_sites.h"

#include <algorithm>
#include <cstdlib>

namespace cs::mapping {

namespace {

constexpr int kHopsToBeAlone = 4;  // that a stream goes further rather than share a place with another one

}  // namespace

HostSites::HostSites(const Parts& parts, const Extent& fabric, const Machine& machine)
    : fabric_(fabric),
      copies_(parts.copies),
      ports_per_edge_(machine.host.host_ports / parts.copies.count),
      colors_(machine.router.colors),
      goal_{goal_of(parts, false), goal_of(parts, true)} {}

// What a sample takes anyway: of the slowest kernel, of the network behind the ports, or of all ports if the
// streams could nearly be spread evenly.
double HostSites::goal_of(const Parts& parts, bool input) const {
  constexpr double kUneven = 1.25;
  double slowest = 0, all = 0;
  for (const Instance& inst : parts.instances) slowest = std::max(slowest, inst.plan.interval_cycles);
  for (const Stream& s : parts.streams) {
    if ((input ? s.port_in : s.port_out).empty()) continue;
    slowest = std::max(slowest, double(s.words));
    all += double(s.words);
  }
  const int ports = 2 * ((on_columns() ? std::min(fabric_.width, ports_per_edge_) : 0) +
                         (on_rows() ? std::min(fabric_.height, ports_per_edge_) : 0));
  return std::max({slowest, parts.host.roof.host, kUneven * all / std::max(1, ports)});
}

HostSites::Use HostSites::use(const Site& s, bool input) const {
  const auto it = used_.find({s.side, s.position, input});
  return it == used_.end() ? Use{} : it->second;
}

std::vector<Site> HostSites::list(Coord near, int64_t words, bool input) const {
  struct Ranked {
    double late = 0;
    int hops = 0;
    Site site;
  };
  std::vector<Ranked> ranked;
  const auto consider = [&](Port side, int position, Coord pe) {
    const Site site{side, position, pe};
    const Use mine = use(site, input), other = use(site, !input);
    const auto ports = ports_.find(side);
    if (mine.streams == 0 && ports != ports_.end() && ports->second >= ports_per_edge_) return;
    if (mine.streams + other.streams >= colors_) return;
    const double late = mine.streams == 0 ? 0 : std::max(0.0, double(mine.words + words) - goal_[input ? 1 : 0]);
    const int way = std::abs(pe.x - near.x) + std::abs(pe.y - near.y);
    ranked.push_back({late, way + kHopsToBeAlone * (mine.streams + other.streams), site});
  };
  for (int x = 0; on_columns() && x < fabric_.width; ++x) {
    consider(Port::north, x, {x, 0});
    consider(Port::south, x, {x, fabric_.height - 1});
  }
  for (int y = 0; on_rows() && y < fabric_.height; ++y) {
    consider(Port::west, y, {0, y});
    consider(Port::east, y, {fabric_.width - 1, y});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(a.late, a.hops) < std::pair(b.late, b.hops);
  });
  std::vector<Site> sites;
  for (const Ranked& r : ranked) sites.push_back(r.site);
  return sites;
}

void HostSites::take(const Site& s, int64_t words, bool input) {
  Use& u = used_[{s.side, s.position, input}];
  if (u.streams++ == 0) ++ports_[s.side];
  u.words += words;
}

}  // namespace cs::mapping

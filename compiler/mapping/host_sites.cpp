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
      band_(band_of(parts.copies)),
      ports_per_edge_(machine.host.host_ports / band_.copies),
      colors_(machine.router.colors),
      goal_{goal_of(parts, false), goal_of(parts, true)},
      used_(at(Port::ramp, 0, false)),
      waits_{std::ranges::any_of(parts.streams, [](const Stream& s) { return !s.port_out.empty(); }),
             std::ranges::any_of(parts.streams, [](const Stream& s) { return !s.port_in.empty(); })} {}

// What a sample takes anyway: of the slowest kernel or stream, of the network behind the ports, or of all ports if the
// streams could nearly be spread evenly.
double HostSites::goal_of(const Parts& parts, bool input) {
  constexpr double kUneven = 1.25;
  double longest = 0, all = 0;
  for (const Stream& s : parts.streams) {
    if ((input ? s.port_in : s.port_out).empty()) continue;
    longest = std::max(longest, double(s.words));
    all += double(s.words);
  }
  int ports = 0;
  for (const Port edge : band_.edges) {
    const bool across = edge == Port::north || edge == Port::south;
    ports += std::min(across ? fabric_.width : fabric_.height, ports_per_edge_);
  }
  double cycles = std::max(parts.host.roof.host, kUneven * all / std::max(1, ports));
  for (const Instance& inst : parts.instances) cycles = std::max(cycles, inst.plan.interval_cycles);
  anyway_ = std::max(anyway_, cycles);
  return std::max(longest, cycles);
}

bool HostSites::has_port(Port edge, bool input) const {
  int free = int(band_.edges.size()) * ports_per_edge_;
  for (const auto& [unused, taken] : ports_) free -= taken;
  const auto here = ports_.find(edge);
  return (here == ports_.end() || here->second < ports_per_edge_) && free > (waits_[input ? 0 : 1] ? 1 : 0);
}

double HostSites::late(const Site& s, int64_t words, bool input) const {
  const Use& use = used_[at(s.side, s.position, input)];
  return use.streams == 0 ? 0 : std::max(0.0, double(use.words + words) - goal_[input ? 1 : 0]);
}

std::vector<Site> HostSites::list(Coord near, int64_t words, bool input) const {
  struct Ranked {
    double late = 0;
    int hops = 0;
    Site site;
  };
  std::vector<Ranked> ranked;
  const auto consider = [&](Port side, int position, Coord pe) {
    const Use& mine = used_[at(side, position, input)];
    const Use& other = used_[at(side, position, !input)];
    if (mine.streams == 0 && !has_port(side, input)) return;
    if (mine.streams + other.streams >= colors_) return;
    const int way = std::abs(pe.x - near.x) + std::abs(pe.y - near.y);
    const Site site{side, position, pe};
    ranked.push_back(
        {late(site, words, input), way + kHopsToBeAlone * (mine.streams + other.streams), site});
  };
  for (int x = 0; x < fabric_.width; ++x) {
    if (has(Port::north)) consider(Port::north, x, {x, 0});
    if (has(Port::south)) consider(Port::south, x, {x, fabric_.height - 1});
  }
  for (int y = 0; y < fabric_.height; ++y) {
    if (has(Port::west)) consider(Port::west, y, {0, y});
    if (has(Port::east)) consider(Port::east, y, {fabric_.width - 1, y});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(a.late, a.hops) < std::pair(b.late, b.hops);
  });
  std::vector<Site> sites;
  for (const Ranked& r : ranked) sites.push_back(r.site);
  return sites;
}

void HostSites::take(const Site& s, int64_t words, bool input) {
  Use& u = used_[at(s.side, s.position, input)];
  if (u.streams++ == 0) ++ports_[s.side];
  waits_[input ? 1 : 0] = false;
  u.words += words;
}

}  // namespace cs::mapping

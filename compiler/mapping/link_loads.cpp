// Loads of links, and which one has most of them.
#include "compiler/mapping/link_loads.h"

#include <algorithm>

namespace cs::mapping {

namespace {

constexpr size_t kLinks = 4;  // of a router
static_assert(size_t(Port::ramp) == kLinks, "the ramp comes behind the links");

PortSet outputs(const RouteConfig& config) {
  PortSet all = 0;
  for (const SwitchPosition& p : config.positions)
    if (p.valid) all |= p.tx;
  return all;
}

bool takes(const Flow& f, Coord from, Port link) {
  const auto it = f.routers.find({from.y, from.x});
  return it != f.routers.end() && (outputs(it->second) & port_bit(link)) != 0;
}

}  // namespace

LinkLoads::LinkLoads(const Extent& fabric)
    : fabric_(fabric), words_(kLinks * size_t(fabric.width) * size_t(fabric.height), 0) {}

void LinkLoads::add(const Flow& f, double words) {
  for (const auto& [key, config] : f.routers) {
    if (!fabric_.contains({key.x, key.y})) continue;
    const PortSet out = outputs(config);
    for (size_t link = 0; link < kLinks; ++link)
      if ((out & port_bit(Port(link))) != 0) words_[kLinks * index({key.x, key.y}) + link] += float(words);
  }
}

double LinkLoads::at(Coord from, Port link) const {
  return link == Port::ramp || !fabric_.contains(from) ? 0 : double(words_[kLinks * index(from) + size_t(link)]);
}

bool Avoid::crowded(Coord from, Port link) const {
  const double others = loads != nullptr ? loads->at(from, link) : 0;
  return others > 0 && others + words > most_words;
}

BusiestLink busiest_link(const Parts& parts, const FlowPlan& plan, const Extent& fabric) {
  LinkLoads loads(fabric);
  for (const Flow& f : plan.flows)
    if (f.stream >= 0) loads.add(f, double(parts.streams[size_t(f.stream)].words));
  BusiestLink most;
  Coord at;
  Port by = Port::ramp;
  for (const Flow& f : plan.flows) {
    for (const auto& [key, config] : f.routers) {
      for (size_t link = 0; link < kLinks; ++link) {
        const double words = loads.at({key.x, key.y}, Port(link));
        if (words > most.words) most.words = words, at = {key.x, key.y}, by = Port(link);
      }
    }
  }
  for (const Flow& f : plan.flows)
    if (f.stream >= 0 && by != Port::ramp && takes(f, at, by)) most.streams.push_back(f.name);
  return most;
}

}  // namespace cs::mapping

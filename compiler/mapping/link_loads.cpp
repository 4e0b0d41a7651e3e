// Loads of links, and which one has most of them.
#include "compiler/mapping/link_loads.h"

#include <algorithm>

namespace cs::mapping {

namespace {

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

// Turns of a sample in which the PEs of an instance, or the collectors of its rows, send a result.
int64_t turns_of_sample(const Instance& inst, int result) {
  if (!inst.in_turns()) return 0;
  return inst.work.kind->turns(inst, inst.plan.cut, result);
}

}  // namespace

Wavelets wavelets_of(const Parts& parts, const Stream& s) {
  if (s.producer < 0) return double(s.words);
  const Instance& producer = parts.instances[size_t(s.producer)];
  const int64_t turns = turns_of_sample(producer, s.result);
  return {double(s.words + std::min(turns, s.words)), producer.senders()};
}

LinkLoads::LinkLoads(const Extent& fabric)
    : fabric_(fabric), loads_(kRouterLinks * size_t(fabric.width) * size_t(fabric.height), 0) {}

void LinkLoads::add(const Flow& f, const Wavelets& wavelets) {
  add(f, [&wavelets](Coord from, Port) { return wavelets.from(from); });
}

void LinkLoads::add(const Flow& f, const std::function<double(Coord, Port)>& wavelets) {
  for (const auto& [key, config] : f.routers) {
    if (!fabric_.contains({key.x, key.y})) continue;
    const PortSet out = outputs(config);
    for (size_t link = 0; link < kRouterLinks; ++link)
      if ((out & port_bit(Port(link))) != 0)
        loads_[kRouterLinks * index({key.x, key.y}) + link] += wavelets({key.x, key.y}, Port(link));
  }
}

LinkLoads::Fullest LinkLoads::fullest(const Flow& f) const {
  Fullest most;
  for (const auto& [key, config] : f.routers) {
    const Coord from{key.x, key.y};
    const PortSet out = outputs(config);
    for (size_t link = 0; link < kRouterLinks; ++link)
      if ((out & port_bit(Port(link))) != 0 && fabric_.contains(neighbour(from, Port(link))) &&
          at(from, Port(link)) > most.wavelets)
        most = {at(from, Port(link)), key};
  }
  return most;
}

BusiestLink busiest_link(const Parts& parts, const FlowPlan& plan, const Extent& fabric) {
  LinkLoads loads = inside_loads(parts, plan, fabric);
  for (const Flow& f : plan.flows)
    if (f.stream >= 0) loads.add(f, wavelets_of(parts, parts.streams[size_t(f.stream)]));
  BusiestLink most;
  Coord at;
  Port by = Port::ramp;
  for (const Flow& f : plan.flows) {
    if (f.stream < 0) continue;
    for (const auto& [key, config] : f.routers) {
      const PortSet out = outputs(config);
      for (size_t link = 0; link < kRouterLinks; ++link) {
        const double wavelets = loads.at({key.x, key.y}, Port(link));
        if ((out & port_bit(Port(link))) != 0 && wavelets > most.wavelets)
          most.wavelets = wavelets, at = {key.x, key.y}, by = Port(link);
      }
    }
  }
  for (const Flow& f : plan.flows)
    if (by != Port::ramp && takes(f, at, by)) most.flows.push_back(f.name);
  return most;
}

}  // namespace cs::mapping

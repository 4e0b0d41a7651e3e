// The least that moving wavelets over static routes takes: a graph of lanes in plain arrays, with shared links and
// backpressure, but no cores, switches, counters or rotating arbitration (whoever comes first in a cycle has the link).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tests/bench/workloads.h"

namespace cs::sim::test {

class BareLanes {
 public:
  // Endless sources where a core sends into a route of `f`, or the host; endless sinks at the other ends.
  explicit BareLanes(const Fabric& f) : width_(f.p.fabric_width) {
    std::map<std::pair<int, int>, uint32_t> at;  // (PE, color) -> lane
    for (const RouteRun& run : f.p.routes)
      for (int y = run.rect.y; y < run.rect.y + run.rect.h; ++y)
        for (int x = run.rect.x; x < run.rect.x + run.rect.w; ++x) {
          const SwitchPosition& p = run.config.positions[0];
          Lane l;
          l.source = (p.rx & port_bit(Port::ramp)) != 0 || x == 0;
          const int out = std::countr_zero(p.tx);
          l.link = uint32_t(y * width_ + x) * kPorts + uint32_t(out);
          places_.push_back({y * width_ + x, run.color, out});
          at[{y * width_ + x, run.color}] = uint32_t(lanes_.size());
          lanes_.push_back(l);
        }
    for (size_t i = 0; i < lanes_.size(); ++i) {
      static constexpr int kStep[kPorts][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {0, 0}};
      const auto [pe, color, out] = places_[i];
      if (Port(out) == Port::ramp) continue;
      const int x = pe % width_ + kStep[out][0], y = pe / width_ + kStep[out][1];
      const auto to = x < 0 || x >= width_ ? at.end() : at.find({y * width_ + x, color});
      if (to != at.end()) lanes_[i].next = to->second;
    }
    links_.assign(size_t(f.p.fabric_width) * size_t(f.p.fabric_height) * kPorts, 0);
  }

  uint64_t run(uint32_t cycles) {
    uint64_t hops = 0;
    for (uint32_t end = now_ + cycles; now_ < end; ++now_)
      for (Lane& l : lanes_) hops += move(l);
    return hops;
  }

 private:
  static constexpr uint32_t kNone = ~0u, kDepth = 2;
  struct Lane {
    uint32_t next = kNone, link = 0, popped = 0;
    uint8_t head = 0, count = 0;
    bool source = false;
    struct Word {
      uint32_t data = 0, lands = 0;
    };
    Word ring[kDepth];
  };

  bool move(Lane& l) {
    if (l.source && l.count < kDepth) put(l, now_);
    if (l.count == 0) return false;
    const Lane::Word w = l.ring[l.head];
    if (int32_t(w.lands - now_) > 0 || links_[l.link] == now_ + 1) return false;
    if (l.next != kNone) {
      Lane& to = lanes_[l.next];
      // Room as of the start of the cycle.
      if (to.count + (to.popped == now_ + 1 ? 1u : 0u) >= kDepth) return false;
      put(to, w.data);
    }
    links_[l.link] = l.popped = now_ + 1;
    l.head = uint8_t((l.head + 1) % kDepth);
    --l.count;
    return true;
  }
  void put(Lane& l, uint32_t data) { l.ring[(l.head + l.count++) % kDepth] = {data, now_ + 1}; }

  int width_;
  uint32_t now_ = 1;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> links_;  // the cycle after the one in which they were used last
  struct Place {
    int pe, color, out;
  };
  std::vector<Place> places_;
};

}  // namespace cs::sim::test

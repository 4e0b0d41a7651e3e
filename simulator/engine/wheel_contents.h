// What the wheels of a block hold, by item: for checkpoints.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "simulator/engine/block.h"

namespace cs::sim {

// What a wheel holds, by item.
struct Due {
  std::vector<std::pair<uint32_t, Cycle>> all;

  template <class Wheel>
  explicit Due(const Wheel& wheel) {
    wheel.for_each([&](Cycle at, uint32_t item) { all.emplace_back(item, at); });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  std::span<const std::pair<uint32_t, Cycle>> of(uint32_t item) const {
    const auto first = std::lower_bound(all.begin(), all.end(), std::pair(item, Cycle(0)));
    const auto last = std::find_if(first, all.end(), [&](const auto& due) { return due.first != item; });
    return {first, last};
  }
};

struct BlockDue {
  Due lanes, pes, ports, switches;
  explicit BlockDue(const Block& b)
      : lanes(b.lane_wheel), pes(b.pe_wheel), ports(b.port_wheel), switches(b.switch_wheel) {}
};

}  // namespace cs::sim

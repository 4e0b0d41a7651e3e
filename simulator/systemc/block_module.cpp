// Borders of a block: wavelets that left the routers of its outermost PEs over that side, from the engine's
// counters.
#include "simulator/systemc/block_module.h"

namespace cs::sim {
namespace {

constexpr const char* kSideNames[4] = {"east", "west", "south", "north"};

// The PEs of `r` along one side.
Rect edge_of(const Rect& r, Port side) {
  switch (side) {
    case Port::east:
      return {r.x + r.w - 1, r.y, 1, r.h};
    case Port::west:
      return {r.x, r.y, 1, r.h};
    case Port::south:
      return {r.x, r.y + r.h - 1, r.w, 1};
    default:
      return {r.x, r.y, r.w, 1};
  }
}

}  // namespace

// By value, as SystemC wants its names.  NOLINTNEXTLINE(performance-unnecessary-value-param)
BlockModule::BlockModule(sc_core::sc_module_name name, Rect rect) : sc_module(name), rect_(rect) {
  for (size_t side = 0; side < borders_.size(); ++side)
    borders_[side] = std::make_unique<BorderChannel>(kSideNames[side]);
}

bool BlockModule::observed() const {
  for (const auto& border : borders_)
    if (border->observed()) return true;
  return false;
}

uint64_t BlockModule::crossed(const Engine& engine, Port side) const {
  const Rect edge = edge_of(rect_, side);
  uint64_t sum = 0;
  for (int y = edge.y; y < edge.y + edge.h; ++y)
    for (int x = edge.x; x < edge.x + edge.w; ++x) sum += engine.stats({x, y}).sent[size_t(side)];
  return sum;
}

void BlockModule::publish(const Engine& engine, Cycle cycle) {
  for (size_t side = 0; side < borders_.size(); ++side) {
    BorderChannel& border = *borders_[side];
    if (!border.observed()) continue;
    const uint64_t total = crossed(engine, Port(side));
    border.publish({cycle, uint32_t(total - border.read().total), total});
  }
}

}  // namespace cs::sim

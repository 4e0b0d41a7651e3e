// Rows from the first to the last: a router is of the region of that beside it and of that above it.
#include "compiler/mapping/route_regions.h"

#include <algorithm>

namespace cs::mapping {

namespace {

// Regions that turned out to be one: the first of them stands for all.
class Joined {
 public:
  uint32_t add() {
    first_.push_back(uint32_t(first_.size()));
    return first_.back();
  }
  uint32_t first(uint32_t region) {
    while (first_[region] != region) region = first_[region] = first_[first_[region]];
    return region;
  }
  uint32_t join(uint32_t a, uint32_t b) {
    const auto [early, late] = std::minmax({first(a), first(b)});
    return first_[late] = early;
  }

 private:
  std::vector<uint32_t> first_{0};  // 0: no region
};

}  // namespace

Regions::Regions(const Avoid& avoid)
    : fabric_(avoid.fabric), region_(size_t(fabric_.width) * size_t(fabric_.height), 0) {
  Joined joined;
  for (int y = 0; y < fabric_.height; ++y) {
    uint32_t* const row = region_.data() + size_t(y) * size_t(fabric_.width);
    for (int x = 0; x < fabric_.width; ++x) {
      if (avoid.blocks({x, y})) continue;
      const uint32_t left = x > 0 ? row[x - 1] : 0, above = y > 0 ? row[x - fabric_.width] : 0;
      if (left != 0 && above != 0)
        row[x] = left == above ? left : joined.join(left, above);
      else
        row[x] = left != 0 || above != 0 ? std::max(left, above) : joined.add();
    }
  }
  for (uint32_t& region : region_) region = joined.first(region);
}

bool Regions::part(const Flow& f, const Rect& target) const {
  std::vector<uint32_t> around;
  for (const auto& [key, config] : f.routers)
    for (const Port link : {Port::east, Port::south, Port::west, Port::north})
      if (const uint32_t region = of(neighbour({key.x, key.y}, link)); region != 0) around.push_back(region);
  for (int y = target.y; y < target.y + target.h; ++y) {
    for (int x = target.x; x < target.x + target.w; ++x) {
      const bool own = f.routers.contains({y, x});
      if (own || std::ranges::find(around, of({x, y})) != around.end()) return false;
    }
  }
  return true;
}

bool Regions::join(Coord c, const Rect& target) const {
  const uint32_t region = of(c);
  if (region == 0) return false;
  for (int y = target.y; y < target.y + target.h; ++y)
    for (int x = target.x; x < target.x + target.w; ++x)
      if (of({x, y}) == region) return true;
  return false;
}

}  // namespace cs::mapping

// Equal shapes by hash, then router by router.
#include "compiler/mapping/flow_shapes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <unordered_map>

namespace cs::mapping {

namespace {

static_assert(std::has_unique_object_representations_v<RouteConfig>,
              "configurations are hashed by their bytes");

uint64_t mixed(uint64_t h, uint64_t part) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  h = (h ^ part) * kOdd;
  return h ^ (h >> 32);
}

uint64_t mixed(uint64_t h, const RouteConfig& c) {
  const char* bytes = reinterpret_cast<const char*>(&c);
  uint64_t word = 0;
  for (size_t at = 0; at < sizeof c; at += sizeof word) {
    word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof word, sizeof c - at));
    h = mixed(h, word);
  }
  return h;
}

Coord corner(const Flow& f) {
  if (f.routers.empty()) return {};
  Coord at{f.routers.begin()->first.x, f.routers.begin()->first.y};  // in order of rows
  for (const auto& router : f.routers) at.x = std::min(at.x, router.first.x);
  return at;
}

uint64_t shape_hash(const Flow& f, Coord at) {
  uint64_t h = f.routers.size();
  for (const auto& [key, config] : f.routers) {
    h = mixed(h, uint64_t(uint32_t(key.y - at.y)) << 32 | uint32_t(key.x - at.x));
    h = mixed(h, config);
  }
  return h;
}

bool alike(const Flow& a, Coord at_a, const Flow& b, Coord at_b) {
  return std::ranges::equal(a.routers, b.routers, [&](const auto& p, const auto& q) {
    return p.first.y - at_a.y == q.first.y - at_b.y && p.first.x - at_a.x == q.first.x - at_b.x &&
           p.second == q.second;
  });
}

}  // namespace

std::vector<ShapedFlow> shapes_of(const std::vector<Flow>& flows) {
  std::vector<ShapedFlow> out;
  out.reserve(flows.size());
  std::unordered_map<uint64_t, std::vector<size_t>> known;  // lookup only
  for (size_t f = 0; f < flows.size(); ++f) {
    const Coord at = corner(flows[f]);
    std::vector<size_t>& shapes = known[shape_hash(flows[f], at)];
    const auto same = std::ranges::find_if(
        shapes, [&](size_t shape) { return alike(flows[shape], out[shape].at, flows[f], at); });
    out.push_back({same == shapes.end() ? f : *same, at});
    if (out.back().shape == f) shapes.push_back(f);
  }
  return out;
}

}  // namespace cs::mapping

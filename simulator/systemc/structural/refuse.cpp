// Limits of the model, checked before it is elaborated.
#include "simulator/systemc/structural/refuse.h"

#include <fmt/format.h>

#include <set>

namespace cs::sim::structural {
namespace {

bool routed(const Program& p, Coord c) {
  for (const RouteRun& run : p.routes)
    if (run.rect.contains(c)) return true;
  return false;
}

}  // namespace

bool accepts(const Program& p, const Machine& m, Diag& diag) {
  int64_t elements = 0;
  for (const TileRect& t : p.rects) elements += t.rect.area();
  std::set<std::pair<int, int>> routes;
  for (const RouteRun& run : p.routes) {
    if (elements > kMostElements || run.rect.area() > kMostElements) break;
    for (int y = run.rect.y; y < run.rect.y + run.rect.h; ++y)
      for (int x = run.rect.x; x < run.rect.x + run.rect.w; ++x) routes.insert({x, y});
  }
  int64_t largest = 0;
  for (const RouteRun& run : p.routes) largest = std::max(largest, run.rect.area());
  const int64_t most = std::max({elements, largest, int64_t(routes.size())});
  if (most > kMostElements)
    diag.error_at("--model structural",
                  fmt::format("has a module for every part of every PE: at most {} PEs, not {}", kMostElements, most),
                  "--model engine runs any fabric, with the same cycles");
  for (const HostPort& port : p.ports)
    if (port.side == Port::ramp || !routed(p, edge_of(p, port.side, port.position)))
      diag.error_at(port.name, "the port has no route of its color at its edge router");
  if (m.router.hop_cycles < 1)
    diag.error_at("router.hop_cycles", "--model structural has registers between routers: at least 1");
  return diag.ok();
}

}  // namespace cs::sim::structural

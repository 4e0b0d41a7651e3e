// What moving streams costs, and which are in the way.
#include "compiler/mapping/route_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cs::mapping {

double Moves::cost(const std::vector<size_t>& streams) const {
  constexpr int kMost = 16;  // times
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double all = streams.size() <= left_ ? 0 : kNever;
  for (const size_t s : streams) all += moved_[s] < kMost ? std::ldexp(least(), moved_[s]) : kNever;
  return all;
}

void Moves::add(const std::vector<size_t>& streams) {
  for (const size_t s : streams) ++moved_[s];
  left_ -= streams.size();
}

std::vector<size_t> streams_at(const FlowPlan& plan, const std::vector<RouterKey>& routers, int color) {
  std::vector<size_t> list;
  for (size_t s = 0; s < plan.of_stream.size(); ++s) {
    if (plan.of_stream[s] < 0) continue;
    const Flow& f = plan.flows[size_t(plan.of_stream[s])];
    if (f.color == color && std::ranges::any_of(routers, [&](RouterKey at) { return f.routers.contains(at); }))
      list.push_back(s);
  }
  return list;
}

}  // namespace cs::mapping

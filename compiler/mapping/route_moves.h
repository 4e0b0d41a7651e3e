// Streams that give way to others: one that finds no color free on any way takes the way of some, which look for
// another one. Those that were moved often cost most, so that no two move each other for ever.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

class Moves {
 public:
  explicit Moves(size_t streams) : moved_(streams, 0), left_(streams / 8 + 64) {}
  // Of moving all of these; infinite where one of them was moved as often as may be, or all streams together were.
  double cost(const std::vector<size_t>& streams) const;
  static constexpr double least() { return 1; }  // of moving any
  void add(const std::vector<size_t>& streams);

 private:
  std::vector<int> moved_;  // times, by stream
  size_t left_;             // moves: networks that have no ways at all are to be told so soon
};

// Those of this color that pass one of these routers.
std::vector<size_t> streams_at(const FlowPlan&, const std::vector<RouterKey>&, int color);

}  // namespace cs::mapping

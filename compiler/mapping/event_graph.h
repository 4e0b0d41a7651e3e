// When things happen in a network: events of one sample, and what each waits for. The slowest circle among them sets
// the interval (network_interval.cpp).
#pragma once

#include <utility>
#include <vector>

#include "compiler/algo/cycle_ratio.h"
#include "compiler/mapping/network_interval.h"

namespace cs::mapping {

struct Way {  // a stream, or a part of it in front of or behind a buffer: events of its first word and its last one
  size_t first = 0, last = 0;
};

class EventGraph {
 protected:
  // Of an instance, -1: of none.
  size_t event(int instance);
  Way way();
  // Of a stream of so many words, one a cycle, sample after sample.
  Way sent(int64_t words);
  // `to` happens no earlier than so many cycles behind what happened to the sample `tokens` samples before. `wait`: the
  // instance and operand for which `to` would wait less if samples had room in front of it.
  void after(size_t to, size_t from, double delay, int tokens, std::pair<int, int> wait = {-1, -1});
  // No event waits for itself within a sample.
  bool live() const;
  // The slowest circle, where it is slower than what the interval is already.
  void add_slowest_circle(NetworkInterval&) const;

 private:
  size_t vertices_ = 0;
  std::vector<int> instance_of_;  // by event
  std::vector<algo::TimedEdge> edges_;
  std::vector<std::pair<int, int>> wait_of_;  // by edge
};

}  // namespace cs::mapping

// How far a simulation is: words that have come back of those that will, cycles and their speed.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "runtime/host/device.h"

namespace cs {

class Progress {
 public:
  // What will have come out of each port at the end; empty where nobody knows.
  void expect(std::vector<std::pair<int, size_t>> words) { expected_ = std::move(words); }
  void operator()(const Device&, Cycle now);

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::pair<int, size_t>> expected_;
  Clock::time_point last_ = Clock::now();
  Cycle last_cycle_ = 0;
};

// Words that `samples` samples of a network send to the host, by port.
std::vector<std::pair<int, size_t>> words_to_come(const Program&, int samples);

}  // namespace cs

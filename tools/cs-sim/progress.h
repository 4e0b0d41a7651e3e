// How far a simulation is: words that have come back of those that will, cycles and their speed.
#pragma once

#include <chrono>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/host/device.h"

namespace cs {

class Progress {
 public:
  // What will have come out of each port at the end; empty where nobody knows.
  void expect(std::vector<std::pair<int, size_t>> words) { expected_ = std::move(words); }
  // Of training: an output of one number in f32, which is shown as it is after the newest step.
  void follow(std::pair<std::string, int> name_and_port) {
    std::tie(followed_, followed_port_) = std::move(name_and_port);
  }
  void operator()(const Device&, Cycle now);

 private:
  using Clock = std::chrono::steady_clock;
  std::string newest(const Device&, double seconds);
  std::vector<std::pair<int, size_t>> expected_;
  std::string followed_;
  int followed_port_ = -1;
  size_t last_steps_ = 0;
  Clock::time_point last_ = Clock::now();
  Cycle last_cycle_ = 0;
};

// The first output of one number that training brings to the host, and its port; -1: there is none.
std::pair<std::string, int> loss_port(const Program&);
// Words that `samples` samples of a network send to the host, by port.
std::vector<std::pair<int, size_t>> words_to_come(const Program&, int samples);

}  // namespace cs

// Arbiter: which of the lanes that ask in a cycle leave their router (docs/timing.md §3). Each output remembers the
// lane that it granted last; the next one after it in the order (input, color) has its turn.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::sim::structural {

struct Request {
  Port input = Port::ramp;
  uint8_t color = 0;
  PortSet outputs = 0;
};

class Arbiter {
 public:
  explicit Arbiter(int ramp_rate) : ramp_rate_(ramp_rate) {}
  // Those that leave.
  std::vector<Request> grant(std::vector<Request> asking);

 private:
  static constexpr int kOrder = 256;  // places in the circular order
  static int place(const Request& r) { return int(r.input) * 32 + r.color; }
  int turn(const Request& r, size_t output) const { return (place(r) - last_[output] - 1 + kOrder) % kOrder; }
  void name(const std::vector<Request>&, std::array<int, kPorts>& named, std::array<int, kPorts>& users) const;

  int ramp_rate_;
  std::array<int, kPorts> last_{};  // at first as if east, color 0 had been the last one
};

}  // namespace cs::sim::structural

// Rounds: every output names the lane whose turn it is. A lane that all its outputs name leaves, and its rivals there
// lose. If no lane is named by all of its outputs, the one that the lowest contested output names beats its rivals
// there, and the round is repeated.
#include "simulator/systemc/structural/arbiter.h"

#include <algorithm>

namespace cs::sim::structural {
namespace {

bool has(const Request& r, size_t output) { return r.outputs >> output & 1; }

}  // namespace

void Arbiter::name(const std::vector<Request>& asking, std::array<int, kPorts>& named,
                   std::array<int, kPorts>& users) const {
  named.fill(-1);
  users.fill(0);
  for (size_t i = 0; i < asking.size(); ++i)
    for (size_t p = 0; p < kPorts; ++p) {
      if (!has(asking[i], p)) continue;
      ++users[p];
      if (named[p] < 0 || turn(asking[i], p) < turn(asking[size_t(named[p])], p)) named[p] = int(i);
    }
}

std::vector<Request> Arbiter::grant(std::vector<Request> asking) {
  std::vector<Request> leave;
  constexpr PortSet kRamp = port_bit(Port::ramp);
  int ramp_left = ramp_rate_;
  while (!asking.empty()) {
    std::array<int, kPorts> named{}, users{};
    name(asking, named, users);
    const auto by_all = [&](const Request& r) {
      for (size_t p = 0; p < kPorts; ++p)
        if (has(r, p) && &asking[size_t(named[p])] != &r) return false;
      return true;
    };
    const auto winner = std::find_if(asking.begin(), asking.end(), by_all);
    if (winner == asking.end()) {
      size_t p = 0;
      while (users[p] <= 1) ++p;
      const int first = place(asking[size_t(named[p])]);
      std::erase_if(asking, [&](const Request& r) { return has(r, p) && place(r) != first; });
      continue;
    }
    const Request w = *winner;
    PortSet taken = w.outputs;
    if ((taken & kRamp) && --ramp_left > 0) taken &= PortSet(~kRamp);  // it has room for another one
    for (size_t p = 0; p < kPorts; ++p)
      if (has(w, p)) last_[p] = place(w);
    std::erase_if(asking, [&](const Request& r) { return place(r) == place(w) || (r.outputs & taken) != 0; });
    leave.push_back(w);
  }
  return leave;
}

}  // namespace cs::sim::structural

// Launches: functions that the host has called, and when the PEs began and ended them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/host/device.h"

namespace cs::sim::structural {

struct Launch {
  std::vector<uint32_t> args;
  LaunchSpan span;  // `issued`: it is at the PEs

  void begins(Cycle t) {
    span.begin = std::min(span.begin, t);
    span.last_begin = std::max(span.last_begin, t);
  }
  // The PE has given its command stream back in the cycle before `t`.
  void ends(Cycle t, Coord pe, Cycle begun) {
    const bool before = std::pair(pe.y, pe.x) < std::pair(span.last_pe.y, span.last_pe.x);
    if (span.ended == 0 || t > span.end || (t == span.end && before)) span.last_pe = pe;
    span.first_end = std::min(span.first_end, t);
    span.end = std::max(span.end, t);
    ++span.ended;
    span.pe_cycles += t - begun;
  }
};

using Launches = std::vector<Launch>;

}  // namespace cs::sim::structural

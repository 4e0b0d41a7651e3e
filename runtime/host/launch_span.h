// LaunchSpan: one launch of a function, as the reports list it.
#pragma once

#include <string>

#include "runtime/host/device.h"

namespace cs {

// From the cycle in which the host's call reaches the fabric to the one in which the last PE has given its command
// stream back.
struct LaunchSpan {
  std::string function;
  Cycle begin = 0, end = 0;
  int64_t pes = 0;  // that have the function
  bool operator==(const LaunchSpan&) const = default;
};

}  // namespace cs

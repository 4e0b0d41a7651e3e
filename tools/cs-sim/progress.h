// Progress: one line that is rewritten on a terminal, a plain line every 30 seconds elsewhere.
#pragma once

#include <chrono>

#include "runtime/host/device.h"

namespace cs {

class Progress {
 public:
  explicit Progress(bool quiet);
  void operator()(Cycle now);
  // Removes the line from the terminal.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, shown_ = false;
  Clock::time_point start_, last_;
  Cycle last_cycle_ = 0;
};

}  // namespace cs

// Speed is that of the last stretch of time, so that a stall of the simulation is seen.
#include "tools/cs-sim/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "simulator/report/summary.h"

namespace cs {

Progress::Progress(bool quiet)
    : quiet_(quiet), terminal_(isatty(2) != 0), start_(Clock::now()), last_(start_) {}

void Progress::operator()(Cycle now) {
  if (quiet_) return;
  const auto time = Clock::now();
  const double seconds = std::chrono::duration<double>(time - last_).count();
  if (seconds < (terminal_ ? 0.2 : 30)) return;
  const double speed = double(now - last_cycle_) / seconds;
  const std::string line = fmt::format("[sim] {} cycles  {:.2f} Mcycles/s  {:.0f} s", sim::grouped(now),
                                       speed / 1e6, std::chrono::duration<double>(time - start_).count());
  if (terminal_) {
    std::cerr << "\r" << fmt::format("{:<70}", line) << std::flush;
  } else {
    std::cerr << line << "\n";
  }
  shown_ = true;
  last_ = time;
  last_cycle_ = now;
}

void Progress::end() {
  if (shown_ && terminal_) std::cerr << "\r" << std::string(72, ' ') << "\r" << std::flush;
  shown_ = false;
}

}  // namespace cs

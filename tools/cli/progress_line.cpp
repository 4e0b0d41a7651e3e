// A thread that looks five times a second at what the work says of itself (runtime/support/progress.h).
#include "tools/cli/progress_line.h"

#include <unistd.h>

#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "runtime/support/progress.h"

namespace cs::cli {
namespace {

constexpr double kShowAfter = 2;  // seconds
constexpr auto kPeriod = std::chrono::milliseconds(200);

std::string time_text(double seconds) {
  const long s = std::lround(seconds);
  return s < 120 ? fmt::format("{} s", s) : fmt::format("{}:{:02} min", s / 60, s % 60);
}

}  // namespace

std::string progress_text(const std::string& tool, const std::string& stage, const std::string& note,
                          double fraction, double seconds) {
  std::string out = "[" + tool + "] ";
  if (fraction > 0 && fraction <= 1)
    out += fmt::format("{:.0f} %, {} left", 100 * fraction, time_text(seconds * (1 - fraction) / fraction));
  else
    out += time_text(seconds);
  if (!stage.empty()) out += "  " + stage;
  if (!note.empty()) out += "  " + note;
  return out;
}

void ProgressLine::begin() {
  if (isatty(2) == 0 || thread_.joinable()) return;
  thread_ = std::thread([this] {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kPeriod, [this] { return end_; })) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds >= kShowAfter) show(seconds);
    }
  });
}

void ProgressLine::show(double seconds) {
  const progress::State state = progress::now();
  std::cerr << "\r\033[K"
            << fmt::format("{:.78}", progress_text(tool_, state.stage, state.note, state.fraction, seconds))
            << std::flush;
  shown_ = true;
}

void ProgressLine::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace cs::cli

// A thread that looks five times a second at what the work says of itself (runtime/support/progress.h).
#include "tools/cli/progress_line.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "runtime/support/progress.h"

namespace cs::cli {
namespace {

constexpr double kShowAfter = 2;  // seconds
constexpr auto kPeriod = std::chrono::milliseconds(200);

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void answer_to_sigusr1() {
  struct sigaction action = {};
  action.sa_handler = [](int) { asked = true; };
  action.sa_flags = SA_RESTART;  // whoever reads or waits goes on
  sigaction(SIGUSR1, &action, nullptr);
}

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

std::string ProgressLine::text(double seconds) const {
  const progress::State state = progress::now();
  return progress_text(tool_, state.stage, state.note, state.fraction, seconds);
}

void ProgressLine::begin(bool quiet) {
  if (thread_.joinable()) return;
  on_terminal_ = !quiet && isatty(2) != 0;
  answer_to_sigusr1();
  thread_ = std::thread([this] {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kPeriod, [this] { return end_; })) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (asked.exchange(false)) answer(seconds);
      if (on_terminal_ && seconds >= kShowAfter) show(seconds);
    }
  });
}

void ProgressLine::show(double seconds) {
  std::cerr << "\r\033[K" << fmt::format("{:.78}", text(seconds)) << std::flush;
  shown_ = true;
}

void ProgressLine::answer(double seconds) {
  std::cerr << (on_terminal_ ? "\r\033[K" : "") << text(seconds) + "\n" << std::flush;
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

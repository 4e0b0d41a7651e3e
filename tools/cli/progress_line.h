// The line on a terminal that says how far a run is: percent, remaining time, the stage. It appears after two
// seconds, is rewritten in place and removed at the end. Where stderr is no terminal, or quiet is asked for, there is
// nothing; but the signal SIGUSR1 prints the line once, on any stderr.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cs::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string tool) : tool_(std::move(tool)) {}
  ~ProgressLine() { end(); }
  void begin(bool quiet = false);
  void end();

 private:
  std::string text(double seconds) const;
  void show(double seconds);
  void answer(double seconds);

  std::string tool_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false, shown_ = false, on_terminal_ = false;
  std::thread thread_;
};

// "[cs-compile] 40 %, 12 s left  map  1,000 cycles": the text of the line.
std::string progress_text(const std::string& tool, const std::string& stage, const std::string& note,
                          double fraction, double seconds);

}  // namespace cs::cli

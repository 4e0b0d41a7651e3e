// Measuring candidates: programs that run for some samples, here or in processes of their own (tools/tune).
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "compiler/passes/measured.h"
#include "tools/api/trial.h"

namespace cs::api {

enum class MeasureStatus : uint8_t {
  ok,
  no_end,        // within the cycles that it had: a deadlock, a fault, or too slow by far; so it is every time
  not_compiled,  // it does not fit its rectangle
  slow,          // past the soft limit of time, and ended when it was told to
  killed,        // past the hard one
  memory,        // killed for taking more than its share
  crashed,       // its process ended
  stopped,       // nobody waits for it any more: interrupted, or the budget is spent
};
std::string_view measure_status_name(MeasureStatus);
// Is it the same for everybody, whatever computer measures?
bool is_repeatable(MeasureStatus);

struct Measurement {
  MeasureStatus status = MeasureStatus::stopped;
  std::optional<Trial> trial;  // if ok
  double wall_ms = 0;
  std::string why = {};
};

// Who runs a program.
class Measurer {
 public:
  virtual ~Measurer() = default;
  // Any thread; at most workers() at a time.
  virtual Measurement run(const Program&, const Weights&, const Machine&, double most_cycles) = 0;
  virtual int workers() const = 0;
};

// Where lines of the log go, one JSON object each.
class TuneLog {
 public:
  virtual ~TuneLog() = default;
  virtual void add(const std::string& line) = 0;
};

enum class TuneLevel : uint8_t {
  off,
  normal,  // the kernels that set the interval: --autotune default
  full,    // all of them, and other forms and paces of the network: max
};
std::optional<TuneLevel> tune_level_from_name(std::string_view);
std::string_view tune_level_name(TuneLevel);

struct Tuning {
  TuneLevel level = TuneLevel::off;
  double budget_seconds = 0;  // measuring ends then, with the best so far; 0: no limit
  std::optional<passes::EpilogueFusion> epilogues;  // not given: measured by full, else by estimate
  bool defer_all = false;     // PassContext::defer_all
  int epilogue_choices = 3;   // kernels that are measured with an epilogue, at most
  Measurer* measurer = nullptr;                  // null: nothing is measured
  TuneLog* log = nullptr;
  const std::atomic<bool>* stop = nullptr;       // once it is true, as if the budget were spent
  passes::EpilogueFusion fusion() const {
    if (epilogues) return *epilogues;
    return level == TuneLevel::full ? passes::EpilogueFusion::benchmark : passes::EpilogueFusion::estimate;
  }
};

}  // namespace cs::api

// A few fields behind a mutex: told some hundred times in a run, read five times a second.
#include "runtime/support/progress.h"

#include <algorithm>
#include <mutex>

#include "runtime/support/cancel.h"

namespace cs::progress {
namespace {

struct Work {
  std::mutex mutex;
  State state;
  double from = 0, to = 0;              // of the stage, in the whole
  double round_from = 0, round_to = 1;  // of the round, in the stage
  double outer_from = 0, outer_to = 1;  // of what stages are a part of
};

constexpr double kRound = 0.25;

Work& work() {
  static Work* one = new Work;  // outlives every thread
  return *one;
}

}  // namespace

void stage(std::string_view name, double from, double to) {
  cancel::check();
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  w.from = w.outer_from + (w.outer_to - w.outer_from) * from;
  w.to = w.outer_from + (w.outer_to - w.outer_from) * to;
  w.round_from = 0;
  w.round_to = 1;
  w.state = {std::string(name), "", w.from};
}

void round(std::string_view stage) {
  cancel::check();
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  if (w.state.stage != stage) return;
  w.round_from = w.round_to < 1 ? w.round_to : 0;
  w.round_to = w.round_from + (1 - w.round_from) * kRound;
  w.state.fraction = w.from + (w.to - w.from) * w.round_from;
}

void part(std::string_view stage, size_t done, size_t total) {
  cancel::check();
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  if (w.state.stage != stage || total == 0) return;
  const double in_round = std::min(1.0, double(done) / double(total));
  w.state.fraction = w.from + (w.to - w.from) * (w.round_from + (w.round_to - w.round_from) * in_round);
}

Within::Within(double from, double to) {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  from_ = w.outer_from;
  to_ = w.outer_to;
  w.outer_from = from_ + (to_ - from_) * from;
  w.outer_to = from_ + (to_ - from_) * to;
}

Within::~Within() {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  w.outer_from = from_;
  w.outer_to = to_;
}

void note(std::string text) {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  w.state.note = std::move(text);
}

State now() {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  return w.state;
}

}  // namespace cs::progress

// A few fields behind a mutex: told some hundred times in a run, read five times a second.
#include "runtime/support/progress.h"

#include <algorithm>
#include <mutex>

namespace cs::progress {
namespace {

struct Work {
  std::mutex mutex;
  State state;
  double from = 0, to = 0;
};

Work& work() {
  static Work* one = new Work;  // outlives every thread
  return *one;
}

}  // namespace

void stage(std::string_view name, double from, double to) {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  w.state = {std::string(name), "", from};
  w.from = from;
  w.to = to;
}

void part(std::string_view stage, size_t done, size_t total) {
  Work& w = work();
  const std::lock_guard lock(w.mutex);
  if (w.state.stage != stage || total == 0) return;
  w.state.fraction = w.from + (w.to - w.from) * std::min(1.0, double(done) / double(total));
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

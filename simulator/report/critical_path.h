// The critical path of a run of a network: from the end of its last sample back, what each step waited for.
//
// In the steady state a part counts that is as long as the one that interval_cycles is taken from, and ends where the
// path leaves the last sample for earlier ones; so the shares of kernels, host and ways add up to the interval.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/host/model_run.h"
#include "simulator/report/wait_tracker.h"

namespace cs::sim {

struct PathStep {
  std::string name;        // kernel, host port or host operator
  int kernel = -1;         // index into the host part's kernels
  int sample = 0, last_sample = 0;  // that it worked on at its begin and at its end
  Cycle begin = 0, end = 0;
  Cause cause = Cause::start;       // why it began then
  std::string from;                 // whose wavelet or room it waited for
};

struct PathShare {
  std::string name;
  Cycle cycles = 0;
  bool operator==(const PathShare&) const = default;
};

struct CriticalPath {
  Cycle begin = 0, end = 0;        // the part of the run that it explains; begin == end: nothing is known
  bool steady = false;             // it is made of whole intervals
  std::vector<PathStep> steps;     // the earliest first, those that reach into the part
  size_t left_out = 0;             // earlier steps of the part, beyond kMaxSteps
  std::vector<PathShare> shares;   // the largest first
  Cycle ways = 0;                  // on links between the steps
  std::string text;                // what sets the interval, in words
  double share(Cycle cycles) const { return end > begin ? double(cycles) / double(end - begin) : 0; }
};

struct PathInput {
  const Program& program;
  const Machine& machine;
  const ModelRunResult& run;
  const WaitTracker& tracker;
  std::function<Cycle(int port, size_t i)> entered;  // Engine::entered
};
CriticalPath critical_path(const PathInput&);

}  // namespace cs::sim

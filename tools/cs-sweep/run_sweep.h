// All points of a sweep, several at a time, with what an earlier run of the same sweep has left.
#pragma once

#include <string>

#include "runtime/support/diag.h"
#include "tools/cs-sweep/run_point.h"

namespace cs::sweep {

struct SweepSettings {
  std::string out;  // folder of the results
  int jobs = 1;     // points at a time
  double timeout_seconds = 600;
  std::string tools;
  const std::atomic<bool>* stop = nullptr;
};

struct SweepSummary {
  size_t points = 0, reused = 0, failed = 0, differ = 0;
  bool stopped = false;
  nlohmann::ordered_json rows;
};

// Writes points.jsonl as it goes, at the end sweep.csv, sweep.json and sweep.html. Nothing if OUT cannot be
// used.
std::optional<SweepSummary> run_sweep(const Sweep&, const SweepSettings&, Diag&);

}  // namespace cs::sweep

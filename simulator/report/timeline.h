// TimelineSampler: how the PEs spent their time, over time, in at most `max_bins` equal bins.
//
// The length of a run is not known beforehand: when the bins are full, neighbours are merged and the bins
// become twice as long. Only PEs with tile code are looked at.
#pragma once

#include "simulator/engine/engine.h"
#include "simulator/report/run_report.h"

namespace cs::sim {

class TimelineSampler {
 public:
  TimelineSampler(const Engine&, size_t max_bins = 256);

  // Takes the counters at the present cycle; returns the cycle at which it wants to be called next.
  Cycle sample();
  // Ends the last bin at the present cycle.
  Timeline finish();
  Cycle first() const { return bin_cycles_; }

 private:
  struct Totals {
    PeTime time;
    std::vector<uint64_t> kernel_busy;
  };
  Totals totals() const;
  void append(const Totals& now);
  void merge();

  const Engine& engine_;
  size_t max_bins_;
  Cycle bin_cycles_ = 32;
  Cycle last_cycle_ = 0;
  uint64_t pes_ = 0;
  Totals last_;
  std::vector<TimelineBin> bins_;
};

}  // namespace cs::sim

// The host's processor: a few cores that all host operators of a run share.
//
// Whenever a core is free it takes, of the operators that are ready, the one of the earliest sample, of equal
// ones the first in the order of the host part (docs/decisions/0010-host.md). Times are wafer cycles.
#pragma once

#include <vector>

#include "runtime/host/device.h"
#include "runtime/machine/machine.h"

namespace cs {

struct HostJob {  // an operator of one sample
  int sample = 0;
  size_t step = 0;   // of the host part
  Cycle ready = 0;   // its operands are on the host
  Cycle cycles = 0;  // that it takes a core
};

struct HostSpan {  // an operator at work
  int sample = 0;
  size_t step = 0;
  int core = 0;
  Cycle begin = 0, end = 0;
  bool operator==(const HostSpan&) const = default;
};

class HostProcessor {
 public:
  explicit HostProcessor(int cores) : free_(size_t(cores), 0) {}

  void add(const HostJob& job) { jobs_.push_back(job); }
  bool idle() const { return jobs_.empty(); }
  // When the next operator starts, as far as the jobs are known; there must be one.
  Cycle next_start() const;
  HostSpan start_next();

 private:
  std::vector<HostJob> jobs_;  // waiting
  std::vector<Cycle> free_;    // by core: until when it is taken
};

// Cycles that an operator takes a core: host_op_us and the larger of its operations and its bytes, each at
// the core's part of the processor's rate.
Cycle host_op_cycles(const Machine&, int64_t flops, int64_t bytes);
// Cycles of the way between a host operator and the edge of the wafer.
Cycle host_crossing_cycles(const Machine&);

}  // namespace cs

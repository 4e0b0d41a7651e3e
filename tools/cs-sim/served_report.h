// The report of a run that another process drives (--serve --report DIR): what the engine has counted by
// itself.
#pragma once

#include <chrono>
#include <memory>

#include "simulator/report/profile.h"
#include "simulator/report/timeline.h"
#include "tools/cs-sim/options.h"
#include "tools/cs-sim/sim_device.h"
#include "tools/cs-sim/traces.h"

namespace cs {

class ServedReport {
 public:
  explicit ServedReport(const SimOptions& o) : o_(o) {}

  // Before the device is built, and when it has loaded the program. Neither does anything without --report.
  void listen(const Program&, Traces&);
  void attach(SimDevice&, Traces&);
  // When nobody drives the run any more.
  bool write(SimDevice&, Diag&);

 private:
  const SimOptions& o_;
  std::unique_ptr<sim::Profile> profile_;
  std::unique_ptr<sim::TimelineSampler> sampler_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace cs

// List scheduling of host operators.
#include "runtime/host/host_processor.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace cs {

Cycle HostProcessor::next_start() const {
  CS_CHECK(!jobs_.empty(), "no host operator waits");
  const auto earlier = [](const HostJob& a, const HostJob& b) { return a.ready < b.ready; };
  return std::max(std::min_element(jobs_.begin(), jobs_.end(), earlier)->ready,
                  *std::min_element(free_.begin(), free_.end()));
}

HostSpan HostProcessor::start_next() {
  const Cycle start = next_start();
  auto chosen = jobs_.end();
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    if (job->ready > start) continue;
    if (chosen == jobs_.end() || std::tie(job->sample, job->step) < std::tie(chosen->sample, chosen->step))
      chosen = job;
  }
  const auto core = std::min_element(free_.begin(), free_.end());
  const HostSpan span{chosen->sample, chosen->step, int(core - free_.begin()), start, start + chosen->cycles};
  *core = span.end;
  jobs_.erase(chosen);
  return span;
}

Cycle host_op_cycles(const Machine& m, int64_t flops, int64_t bytes) {
  const double cores = m.host.host_cores, cycles_per_ns = m.clock_mhz / 1e3;
  const double operations_ns = double(flops) * cores / m.host.host_gflops;
  const double bytes_ns = double(bytes) * cores / m.host.host_gb_per_s;
  const double cycles = m.host.host_op_us * m.clock_mhz + std::max(operations_ns, bytes_ns) * cycles_per_ns;
  return Cycle(std::max(1.0, std::ceil(cycles)));
}

Cycle host_crossing_cycles(const Machine& m) {
  return Cycle(std::ceil(m.host.host_crossing_us * m.clock_mhz));
}

}  // namespace cs

// A report's figures for those who use the library.
#include "simulator/report/collect.h"
#include "simulator/report/stats_json.h"
#include "wafersmith/internal.h"

namespace wafersmith {

Statistics figures_of(const cs::sim::RunReport& report) {
  Statistics out;
  out.cycles = report.cycles;
  out.wavelet_hops = report.wavelet_hops;
  out.instructions = report.instructions;
  out.flops = report.flops;
  out.pes_used = report.pes_used;
  out.utilisation = report.utilisation;
  out.latency_cycles = report.latency_cycles;
  out.interval_cycles = report.interval_cycles;
  out.samples_per_second = report.samples_per_second;
  for (const cs::sim::KernelReport& k : report.kernels)
    out.kernels.push_back({k.row.name, k.row.op, std::string(cs::origin_name(k.row.origin)), k.time.busy,
                           k.time.total() - k.time.busy - k.time.idle, k.time.idle, k.flops});
  for (const cs::LaunchSpan& l : report.launches)
    if (l.done()) out.launches.push_back({l.function, l.begin, l.end, l.pes});
  out.json = cs::sim::stats_json(report);
  return out;
}

}  // namespace wafersmith

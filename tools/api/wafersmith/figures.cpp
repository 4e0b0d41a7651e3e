// A report's figures for those who use the library.
#include "simulator/report/collect.h"
#include "simulator/report/stats_json.h"
#include "wafersmith/internal.h"

namespace wafersmith {

LaunchInfo launch_of(const cs::LaunchSpan& l) {
  return {l.function,  l.begin, l.end,        l.pes,        l.issued,    l.last_begin,        l.first_end,
          l.ended,     l.last_pe.x, l.last_pe.y, l.pe_cycles, l.begin != cs::kNever, l.done()};
}

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
    if (l.done()) out.launches.push_back(launch_of(l));
  out.json = cs::sim::stats_json(report);
  return out;
}

}  // namespace wafersmith

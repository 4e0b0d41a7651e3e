// Each function looks for one thing and adds an insight only if the numbers support it.
#include "simulator/report/insights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cs::sim {
namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

const char* stall_advice(Stall why) {
  switch (why) {
    case Stall::input:
      return "PEs wait for wavelets: the producer is slower, or the path to it is long";
    case Stall::output:
      return "PEs are held back by full output queues: a link or a consumer downstream is the limit";
    case Stall::dependency:
      return "Results, descriptors or jumps are waited for: longer vectors or unrolling would hide it";
    case Stall::memory:
      return "Operands share memory banks: shift one of the arrays by a few words";
    case Stall::dispatch:
      return "Starting tasks costs a lot: do more work per task";
    case Stall::count:
      break;
  }
  return "";
}

void failed_run(const RunReport& r, std::vector<Insight>& out) {
  if (r.status.fault.empty()) return;
  out.push_back({fmt::format("The run ended at cycle {} with the fault {}", r.status.now, r.status.fault),
                 r.status.message});
}

void slowest_kernel(const RunReport& r, std::vector<Insight>& out) {
  const KernelReport* worst = nullptr;
  double wafer = 0;
  for (const KernelReport& k : r.kernels) {
    if (!k.cycles) continue;
    wafer += *k.cycles;
    if (worst == nullptr || *k.cycles > *worst->cycles) worst = &k;
  }
  if (worst == nullptr || r.kernels.size() < 2) return;
  out.push_back(
      {fmt::format("{} takes longest: {:.0f} cycles for one sample ({:.0f} % of the sum over kernels)",
                   worst->row.name, *worst->cycles, percent(*worst->cycles, wafer)),
       worst->row.origin == Origin::host
           ? "It runs on the host, transfers included: a generated kernel (autogen_policy: medium) would "
             "stay on the wafer"
           : fmt::format("{:.0f} % of the time of its {} PEs is busy; a larger rectangle or a faster kernel "
                         "pays here first",
                         percent(double(worst->time.busy), double(worst->time.total())),
                         worst->row.rect.area())});
}

void largest_stall(const RunReport& r, std::vector<Insight>& out) {
  const auto it = std::max_element(r.time.stalls.begin(), r.time.stalls.end());
  const double share = percent(double(*it), double(r.time.total()));
  if (share < 5) return;
  const Stall why = Stall(it - r.time.stalls.begin());
  out.push_back(
      {fmt::format("{:.0f} % of all PE cycles are {} stalls", share, stall_name(why)), stall_advice(why)});
}

void counterparts(const RunReport& r, std::vector<Insight>& out) {
  const KernelReport *best = nullptr, *worst = nullptr;
  for (const KernelReport& k : r.kernels) {
    if (!k.counterpart) continue;
    if (best == nullptr || k.counterpart->ratio < best->counterpart->ratio) best = &k;
    if (worst == nullptr || k.counterpart->ratio > worst->counterpart->ratio) worst = &k;
  }
  if (best == nullptr) return;
  const auto line = [](const KernelReport& k) {
    return fmt::format("{}: {:.2f} x the cycles of the {} kernel ({:.0f} against {:.0f})", k.row.name,
                       k.counterpart->ratio, origin_name(k.counterpart->origin), k.counterpart->this_cycles,
                       k.counterpart->cycles);
  };
  out.push_back({"Generated against handwritten: best " + line(*best),
                 best == worst ? std::string("Each simulated alone on the same rectangle with the same input")
                               : "Worst " + line(*worst) +
                                     "; each simulated alone on the same rectangle with the same input"});
}

void estimate_gap(const RunReport& r, std::vector<Insight>& out) {
  const KernelReport* worst = nullptr;
  double gap = 1.25;
  for (const KernelReport& k : r.kernels) {
    const double ratio = k.estimate_ratio().value_or(1);
    if (std::max(ratio, 1 / ratio) > gap) {
      gap = std::max(ratio, 1 / ratio);
      worst = &k;
    }
  }
  if (worst == nullptr) return;
  out.push_back({fmt::format("Estimate and simulation differ most for {}: {:.0f} estimated, {:.0f} simulated",
                             worst->row.name, worst->row.estimated_cycles, *worst->cycles),
                 "Sizing trusts the estimate, so this kernel may have too many or too few PEs; time in "
                 "which it waits for the rest of its input counts"});
}

void hot_link(const RunReport& r, std::vector<Insight>& out) {
  const double load = percent(double(r.hot_link.wavelets), double(r.cycles));
  if (load < 1) return;
  static constexpr const char* kPorts4[] = {"east", "west", "south", "north"};
  out.push_back(
      {fmt::format("The busiest link leaves PE ({}, {}) to the {}: {} wavelets, {:.0f} % of the cycles",
                   r.hot_link.pe.x, r.hot_link.pe.y, kPorts4[size_t(r.hot_link.port)], r.hot_link.wavelets,
                   load),
       load > 60 ? "It is near its limit of one wavelet per cycle: spread the stream over more rows"
                 : "There is room for more samples on it"});
}

void memory(const RunReport& r, std::vector<Insight>& out) {
  if (r.memory_bytes_max == 0) return;
  const double share = percent(r.memory_bytes_max, r.memory_bytes_have);
  out.push_back({fmt::format("The fullest PE uses {} of {} bytes ({:.0f} %)", r.memory_bytes_max,
                             r.memory_bytes_have, share),
                 share > 90 ? "Little is left: a larger model needs more PEs per kernel"
                            : "cs-objdump --memory shows what fills it"});
}

}  // namespace

std::vector<Insight> insights(const RunReport& r) {
  std::vector<Insight> out;
  failed_run(r, out);
  slowest_kernel(r, out);
  largest_stall(r, out);
  counterparts(r, out);
  estimate_gap(r, out);
  hot_link(r, out);
  memory(r, out);
  return out;
}

}  // namespace cs::sim

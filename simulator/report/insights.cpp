// Each function looks for one thing and adds an insight only if the numbers support it.
#include "simulator/report/insights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/report/launches.h"

namespace cs::sim {
namespace {

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

const char* stall_meaning(Stall why) {
  switch (why) {
    case Stall::input:
      return "PEs wait for wavelets; the first and the last samples of a run, which fill and drain the "
             "pipeline, count";
    case Stall::output:
      return "PEs are held back by full output queues: a link or a taker downstream has no room";
    case Stall::dependency:
      return "Results, descriptors or jumps are waited for";
    case Stall::memory:
      return "Operands that are read in one cycle share a memory bank";
    case Stall::dispatch:
      return "Tasks are started and switched";
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
    if (!k.cycles || k.row.copy > 0) continue;
    wafer += *k.cycles;
    if (worst == nullptr || *k.cycles > *worst->cycles) worst = &k;
  }
  if (worst == nullptr || r.kernels.size() < 2) return;
  out.push_back(
      {fmt::format("{} takes longest: {:.0f} cycles for one sample ({:.0f} % of the sum over kernels)",
                   worst->row.name, *worst->cycles, percent(*worst->cycles, wafer)),
       worst->row.origin == Origin::host
           ? std::string("It runs on the host, transfers included")
           : fmt::format("{:.0f} % of the time of its {} PEs is busy",
                         percent(double(worst->time.busy), double(worst->time.total())),
                         worst->row.rect.area())});
}

void largest_stall(const RunReport& r, std::vector<Insight>& out) {
  const auto it = std::max_element(r.time.stalls.begin(), r.time.stalls.end());
  // A launched program is idle while the host's commands are on their way: that says nothing about its code.
  const uint64_t whole = r.launches.empty() ? r.time.total() : r.time.total() - r.time.idle;
  const double share = percent(double(*it), double(whole));
  if (share < 5) return;
  const Stall why = Stall(it - r.time.stalls.begin());
  const char* of = r.launches.empty() ? "all PE cycles are" : "the PE cycles in which code ran are";
  const bool samples = why == Stall::input && r.iterations > 0 && r.launches.empty();
  out.push_back({fmt::format("{:.0f} % of {} {} stalls", share, of, stall_name(why)),
                 why == Stall::input && !samples ? "PEs wait for wavelets" : stall_meaning(why)});
}

void longest_launch(const RunReport& r, std::vector<Insight>& out) {
  const std::vector<LaunchedFunction> rows = launched_functions(r.launches);
  const auto most = std::max_element(rows.begin(), rows.end(),
                                     [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  if (most == rows.end() || most->ended == 0) return;
  const LaunchedFunction& f = *most;
  std::string title = fmt::format("{} takes {:.0f} % of the cycles in launches: {} in {} launch{}", f.name,
                                  percent(double(f.cycles), double(r.launched_cycles())), f.cycles, f.ended,
                                  f.ended == 1 ? "" : "es");
  const double level = percent(double(f.pe_cycles), double(f.cycles) * double(f.pes));
  std::string advice = fmt::format("Its PEs are in it for {:.0f} % of that time on average", level);
  if (f.behind > 0)
    advice += fmt::format("; PE ({}, {}) ends last, {} cycles behind the first one", f.last_pe.x, f.last_pe.y,
                          f.behind);
  out.push_back({std::move(title), std::move(advice)});
}

// What lies between launches: the way of the host's commands to the PEs, copies.
void between_launches(const RunReport& r, std::vector<Insight>& out) {
  if (r.launches.empty() || r.cycles <= r.launched_cycles()) return;
  const Cycle between = r.cycles - r.launched_cycles();
  const double share = percent(double(between), double(r.cycles));
  if (share < 5) return;
  out.push_back({fmt::format("{:.0f} % of the run ({} cycles) lies outside launches", share, between),
                 "Every launch and copy takes machine.memcpy.command_cycles before it begins, and copies "
                 "take their words; "
                 "one function that does several steps saves the launches between them"});
}

void costliest_line(const RunReport& r, std::vector<Insight>& out) {
  if (r.lines.empty() || r.lines.front().line == 0) return;
  uint64_t all = 0;
  for (const LineCost& l : r.lines) all += l.cycles();
  const LineCost& top = r.lines.front();
  const auto worst = std::max_element(top.stalls.begin(), top.stalls.end());
  std::string advice =
      fmt::format("{:.0f} % of that is work", percent(double(top.busy), double(top.cycles())));
  if (*worst > 0)
    advice += fmt::format(", {:.0f} % {} stalls", percent(double(*worst), double(top.cycles())),
                          stall_name(Stall(worst - top.stalls.begin())));
  out.push_back({fmt::format("{}:{} takes {:.0f} % of the PE cycles in which code ran", top.file, top.line,
                             percent(double(top.cycles()), double(all))),
                 std::move(advice)});
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
                 "Time in which it waits for the rest of its input counts"});
}

// Of the interval where there is a steady state: what fills and drains the pipeline says nothing about a
// link.
void hot_link(const RunReport& r, std::vector<Insight>& out) {
  static constexpr const char* kPorts4[] = {"east", "west", "south", "north"};
  if (!r.launches.empty() && r.launched_cycles() > 0 && r.hot_link.wavelets > 0) {
    const double load = percent(double(r.hot_link.wavelets), double(r.launched_cycles()));
    if (load < 1) return;
    out.push_back(
        {fmt::format("The busiest link leaves PE ({}, {}) to the {}: {} wavelets, {:.0f} % of the cycles in "
                     "launches",
                     r.hot_link.pe.x, r.hot_link.pe.y, kPorts4[size_t(r.hot_link.port)], r.hot_link.wavelets,
                     load),
         load > 90 ? "A link carries one wavelet per cycle" : "A link could carry one wavelet per cycle"});
    return;
  }
  if (r.iterations < 1 || !r.interval_cycles || *r.interval_cycles <= 0) return;
  const double wavelets = double(r.hot_link.wavelets) / r.iterations;
  const double load = percent(wavelets, *r.interval_cycles);
  if (load < 1) return;
  out.push_back(
      {fmt::format("The busiest link leaves PE ({}, {}) to the {}: {:.0f} wavelets per sample, {:.0f} % of "
                   "the interval",
                   r.hot_link.pe.x, r.hot_link.pe.y, kPorts4[size_t(r.hot_link.port)], wavelets, load),
       load > 90 ? "It bounds the interval: a link carries one wavelet per cycle"
                 : "It does not bound the interval"});
}

void roof(const RunReport& r, std::vector<Insight>& out) {
  if (!r.efficiency()) return;
  out.push_back(
      {fmt::format("The network runs at {:.2g} % of what the whole wafer allows", 100 * *r.efficiency()),
       fmt::format("{:.3g} cycles per sample for its operations on all PEs, {:.3g} for its weights, {:.3g} "
                   "for inputs "
                   "and outputs over the host's network; no program beats the largest of them",
                   r.roof.operations, r.roof.memory, r.roof.host)});
}

void memory(const RunReport& r, std::vector<Insight>& out) {
  if (r.memory_bytes_max == 0) return;
  const double share = percent(r.memory_bytes_max, r.memory_bytes_have);
  out.push_back({fmt::format("The fullest PE uses {} of {} bytes ({:.0f} %)", r.memory_bytes_max,
                             r.memory_bytes_have, share),
                 "cs-objdump --memory shows what fills it"});
}

}  // namespace

std::vector<Insight> insights(const RunReport& r) {
  std::vector<Insight> out;
  failed_run(r, out);
  longest_launch(r, out);
  costliest_line(r, out);
  between_launches(r, out);
  roof(r, out);
  slowest_kernel(r, out);
  largest_stall(r, out);
  counterparts(r, out);
  estimate_gap(r, out);
  hot_link(r, out);
  memory(r, out);
  return out;
}

}  // namespace cs::sim

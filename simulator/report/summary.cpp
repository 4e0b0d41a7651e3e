// Text of a run: head, figures, where PE cycles went, check, kernels (the largest first to go if there are
// many).
#include "simulator/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/report/cycle_classes.h"
#include "simulator/report/launches.h"

namespace cs::sim {
namespace {

constexpr size_t kMaxKernelLines = 24;

std::string time_text(double cycles, double mhz) {
  const double us = mhz > 0 ? cycles / mhz : 0;
  if (us >= 1e6) return fmt::format("{:.2f} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.2f} ms", us / 1e3);
  return fmt::format("{:.2f} us", us);
}

std::string share(uint64_t part, uint64_t whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100.0 * double(part) / double(whole) : 0);
}

std::string rounded(double v) { return grouped(uint64_t(std::llround(std::max(0.0, v)))); }

const char* unit(const RunReport& r) { return r.training ? "step" : "sample"; }

std::string curves_text(const RunReport& r) {
  std::string out;
  for (const Curve& c : r.curves)
    if (!c.values.empty())
      out += fmt::format("  {:13} {:.6g} in the first step, {:.6g} in the last one\n", c.name,
                         c.values.front(), c.values.back());
  return out;
}

std::string evaluations_text(const RunReport& r) {
  std::string out;
  for (const Evaluation& e : r.evaluations) {
    std::string means;
    for (const auto& [name, mean] : e.means) means += fmt::format("{}{} {:.6g}", means.empty() ? "" : ", ", name, mean);
    out += fmt::format("  {:13} {}{} (mean of {} batches)\n", "evaluation",
                       r.training ? fmt::format("after {} steps: ", e.after_steps) : "", means, e.batches);
  }
  return out;
}

// What a step consists of, where its bytes are, what of it crosses the edge.
std::string training_text(const RunReport& r) {
  if (!r.training) return "";
  std::string phases, memory, edge;
  for (const StepPhase& p : r.steps.phases)
    if (p.cycles)
      phases += fmt::format("{}{} {}", phases.empty() ? "" : ", ", p.name, rounded(*p.cycles));
  for (const PurposeBytes& b : r.steps.memory)
    memory += fmt::format("{}{} {}", memory.empty() ? "" : ", ", b.purpose, grouped(b.bytes));
  for (const EdgeTraffic& t : r.steps.edge)
    edge += fmt::format("{}{}{} {}", edge.empty() ? "" : ", ", t.tensor, t.what == "state" ? " (state)" : "",
                        rounded(double(4 * t.words) / std::max(1, r.iterations)));
  std::string out;
  if (!phases.empty()) out += fmt::format("  step          {} cycles\n", phases);
  if (!memory.empty()) out += fmt::format("  bytes         {}\n", memory);
  if (!edge.empty()) out += fmt::format("  edge          {} bytes a step\n", edge);
  return out;
}

std::string head(const RunReport& r) {
  std::string out = fmt::format("{} on {}", r.model.empty() ? r.program : r.model, r.machine);
  if (!r.policy.empty()) out += fmt::format(", autogen_policy {}", r.policy);
  if (!r.model.empty() && r.iterations > 0)
    out += fmt::format(", {} {}{}", r.iterations, unit(r), r.iterations == 1 ? "" : "s");
  else if (r.iterations > 1)
    out += fmt::format(", {} rounds", r.iterations);
  if (r.copies > 1) out += fmt::format(", {} copies", r.copies);
  return out +
         fmt::format(", {} PEs used of {} x {}\n", grouped(r.pes_used), r.fabric_width, r.fabric_height);
}

std::string figures(const RunReport& r) {
  std::string out = fmt::format("  cycles        {} ({} at {:.0f} MHz)\n", grouped(r.cycles),
                                time_text(double(r.cycles), r.clock_mhz), r.clock_mhz);
  if (r.latency_cycles)
    out += fmt::format("  latency       {} cycles ({}) for one {}\n", grouped(*r.latency_cycles),
                       time_text(double(*r.latency_cycles), r.clock_mhz), unit(r));
  if (r.samples_per_second)
    out += fmt::format("  throughput    {} {}s/s{}\n", rounded(*r.samples_per_second), unit(r),
                       r.interval_cycles ? fmt::format(", one every {:.1f} cycles", *r.interval_cycles) : "");
  if (!r.launches.empty() && r.launched_cycles() > 0)
    out += fmt::format("  in launches   {} cycles ({}) of {} launch{}\n", grouped(r.launched_cycles()),
                       time_text(double(r.launched_cycles()), r.clock_mhz), grouped(r.launches.size()),
                       r.launches.size() == 1 ? "" : "es");
  if (!r.path.text.empty()) out += "  critical path " + r.path.text + "\n";
  out += fmt::format("  work          {} flops, {} wavelet hops, utilisation {:.2f} % of peak\n",
                     grouped(r.flops), grouped(r.wavelet_hops), 100 * r.utilisation);
  if (r.efficiency())
    out += fmt::format("  efficiency    {:.2g} % of what the whole wafer allows: {:.3g} cycles, by its {}\n",
                       100 * *r.efficiency(), r.roof.cycles(), r.roof.largest());
  out += fmt::format("  PE cycles     busy {}", share(r.time.busy, r.time.total()));
  for (int i = 0; i < kStalls; ++i)
    if (r.time.stalls[size_t(i)] > 0)
      out += fmt::format(", {} {}", stall_name(Stall(i)), share(r.time.stalls[size_t(i)], r.time.total()));
  out += fmt::format(", idle {}\n", share(r.time.idle, r.time.total()));
  const std::string classes = classes_line(r);
  if (classes.empty()) return out;
  return out + "  classes       " + classes + "; in parentheses the error of each where others measured\n";
}

std::string check_text(const RunReport& r) {
  if (!r.check->ok) return "DIFFERS: " + r.check->mismatch;
  return fmt::format("ok: {} tensor{}, max error {:.2g} of the largest value (tolerance {:.0e})",
                     r.check->tensors, r.check->tensors == 1 ? "" : "s", r.check->max_rel,
                     r.check->tolerance);
}

std::string host_text(const RunReport& r) {
  if (r.host.cores == 0) return "";
  const size_t per_sample = r.host.work.size() / size_t(std::max(1, r.iterations));
  return fmt::format("  host          {} operator{} a sample on {} core{}, busy {}\n", per_sample,
                     per_sample == 1 ? "" : "s", r.host.cores, r.host.cores == 1 ? "" : "s",
                     share(r.host.busy(), uint64_t(r.host.cores) * r.cycles));
}

// How well the compiler's estimates hold, kernel by kernel of one sample.
std::string estimates_text(const RunReport& r) {
  const Estimates e = estimates_of(r.kernels);
  if (e.kernels == 0) return "";
  return fmt::format("  estimates     {} of {} kernels within {:.0f} % of the simulated cycles\n", e.within,
                     e.kernels, 100 * kEstimateTolerance);
}

std::string kernel_line(const KernelReport& k, size_t width) {
  const bool host = k.row.origin == Origin::host;
  std::string counterpart;
  if (k.counterpart)
    counterpart =
        fmt::format("{:.2f} x {} ({} / {})", k.counterpart->ratio, origin_name(k.counterpart->origin),
                    rounded(k.counterpart->this_cycles), rounded(k.counterpart->cycles));
  const std::string rect =
      host ? "host" : fmt::format("{}x{} @{},{}", k.row.rect.w, k.row.rect.h, k.row.rect.x, k.row.rect.y);
  return fmt::format("  {:<{}}  {:<11} {:>14} {:>9} {:>9} {:>9} {:>7} {:>8}  {}\n", k.row.name, width,
                     origin_name(k.row.origin), rect, k.cycles ? rounded(*k.cycles) : "-",
                     host ? "-" : rounded(k.row.estimated_cycles), host ? "-" : rounded(k.row.ideal_cycles),
                     host ? "-" : share(k.time.busy, k.time.total()),
                     host ? "-" : grouped(k.row.bytes_per_pe), counterpart);
}

std::string kernel_table(const RunReport& r) {
  std::vector<const KernelReport*> rows;  // copies of the network are alike
  for (const KernelReport& k : r.kernels)
    if (k.row.copy == 0) rows.push_back(&k);
  if (rows.empty()) return "";
  size_t width = 6;
  for (const KernelReport* k : rows) width = std::max(width, k->row.name.size());
  std::string out =
      fmt::format("\n  {:<{}}  {:<11} {:>14} {:>9} {:>9} {:>9} {:>7} {:>8}  {}\n", "kernel", width, "origin",
                  "PEs", "cycles", "estimated", "ideal", "busy", "bytes/PE", "cycles against");
  const size_t shown = std::min(rows.size(), kMaxKernelLines);
  for (size_t i = 0; i < shown; ++i) out += kernel_line(*rows[i], width);
  if (shown < rows.size()) out += fmt::format("  ... {} more in stats.json\n", rows.size() - shown);
  if (r.copies > 1) out += fmt::format("  ... and the same in each of {} copies, in stats.json\n", r.copies);
  return out;
}

// The host's own time is not in the cycles; who sees only them should know.
std::string host_call_text(const RunReport& r) {
  if (r.host_call_seconds <= 0 || r.launches.empty()) return "";
  return fmt::format("  host calls    {} on the host's own clock, beside these cycles\n",
                     time_text(r.host_call_seconds * 1e6 * r.clock_mhz, r.clock_mhz));
}

std::string clones_text(const RunReport& r) {
  if (r.aligned_clones == 0) return "";
  return fmt::format("  clones        {} input{} began between words of the host and {} cloned: {} of the cycles\n",
                     r.aligned_clones, r.aligned_clones == 1 ? "" : "s", r.aligned_clones == 1 ? "was" : "were",
                     time_text(double(r.clone_cycles), r.clock_mhz));
}

std::string launch_table(const RunReport& r) {
  const std::vector<LaunchedFunction> rows = launched_functions(r.launches);
  if (rows.empty()) return "";
  size_t width = 8;
  for (const LaunchedFunction& f : rows) width = std::max(width, f.name.size());
  std::string out = fmt::format("\n  {:<{}}  {:>8} {:>12} {:>12} {:>12} {:>9}  {}\n", "launched", width,
                                "launches", "cycles", "shortest", "longest", "PEs", "ended last");
  for (size_t i = 0; i < std::min(rows.size(), kMaxKernelLines); ++i) {
    const LaunchedFunction& f = rows[i];
    const std::string last = f.ended == 0    ? "never ended"
                             : f.pes == 1    ? fmt::format("PE ({}, {})", f.last_pe.x, f.last_pe.y)
                             : f.behind == 0 ? "all at once"
                                             : fmt::format("PE ({}, {}), {} behind the first", f.last_pe.x,
                                                           f.last_pe.y, grouped(f.behind));
    out += fmt::format(
        "  {:<{}}  {:>8} {:>12} {:>12} {:>12} {:>9}  {}{}\n", f.name, width, grouped(f.launches),
        grouped(f.cycles), grouped(f.shortest), grouped(f.longest), grouped(uint64_t(f.pes)), last,
        f.ended > 0 && f.ended < f.launches ? fmt::format("; {} never ended", f.launches - f.ended) : "");
  }
  if (rows.size() > kMaxKernelLines)
    out += fmt::format("  ... {} more in stats.json\n", rows.size() - kMaxKernelLines);
  return out;
}

// Where the cycles of the PEs went, if the run was listened to.
std::string line_table(const RunReport& r) {
  constexpr size_t kShown = 5;
  if (r.lines.empty()) return "";
  uint64_t all = 0;
  for (const LineCost& l : r.lines) all += l.cycles();
  std::string out = fmt::format("\n  {:<32} {:>16} {:>9} {:>9}\n", "line", "PE cycles", "share", "busy");
  for (size_t i = 0; i < std::min(kShown, r.lines.size()); ++i) {
    const LineCost& l = r.lines[i];
    const std::string where = l.line > 0 ? fmt::format("{}:{}", l.file, l.line) : "no line";
    out += fmt::format("  {:<32} {:>16} {:>9} {:>9}\n", where, grouped(l.cycles()), share(l.cycles(), all),
                       share(l.busy, l.cycles()));
  }
  if (r.lines.size() > kShown) out += fmt::format("  ... {} more in stats.json\n", r.lines.size() - kShown);
  return out;
}

std::string advice_text(const RunReport& r) {
  if (r.advice_note.empty()) return "";
  std::string out = "\n  " + r.advice_note + "\n";
  for (const Advice& a : r.advice)
    out += fmt::format("  {:>4.0f} %  {}\n          {} instead of {} cycles{}, on {} PEs: {}\n", 100 * a.gain(),
                       a.command, rounded(a.value), rounded(a.base),
                       a.figure == "cycles" ? " in all" : " per sample", grouped(a.pes_used), a.why);
  return out;
}

std::string against_table(const RunReport& r) {
  if (r.comparisons.empty()) return "";
  std::string out =
      fmt::format("\n  {:<20} {:>16} {:>16} {:>8}   against {}\n", "", "this", "base", "ratio", r.against);
  for (const Comparison& c : r.comparisons)
    out += fmt::format("  {:<20} {:>16} {:>16} {:>8.3f}\n", c.name,
                       c.this_value < 100 ? fmt::format("{:.4g}", c.this_value) : rounded(c.this_value),
                       c.base < 100 ? fmt::format("{:.4g}", c.base) : rounded(c.base), c.ratio());
  return out + (r.against_note.empty() ? "" : "  " + r.against_note + "\n");
}

}  // namespace

std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value), out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string one_line(const RunReport& r) {
  const std::string check = r.check ? check_text(r) + "; " : "";
  const std::string fault = r.status.fault.empty() ? "" : r.status.fault + " at ";
  return fmt::format("{}{}{} cycles{}\n", check, fault, grouped(r.cycles),
                     r.latency_cycles ? fmt::format(", latency {}", grouped(*r.latency_cycles)) : "");
}

std::string summary(const RunReport& r) {
  std::string out = head(r) + curves_text(r) + evaluations_text(r) + figures(r) + training_text(r) + host_text(r);
  if (r.check) out += "  check         " + check_text(r) + "\n";
  for (const auto& [fault, count] : r.allowed)
    out += fmt::format("  allowed       {} ({} times)\n", fault, count);
  return out + host_call_text(r) + clones_text(r) + estimates_text(r) + launch_table(r) + line_table(r) +
         kernel_table(r) + against_table(r) + advice_text(r);
}

}  // namespace cs::sim

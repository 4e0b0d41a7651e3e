// Two jobs of one case are a line.
#include "tools/cs-regress/loss_table.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace cs {
namespace {

constexpr double kIdeal = 1.5;   // cycles over ideal of a kernel
constexpr double kStreamed = 2;  // primitives over fused, as kernels of a graph
constexpr double kResident = 1;  // and with operands on the PEs

struct Line {
  Result* any = nullptr;
  std::vector<Result*> jobs;
  std::optional<KernelFigures> fused, primitives;
  std::string failure;
  double gain() const { return fused && primitives ? primitives->cycles / fused->cycles : 0; }
  bool resident() const { return any->kernel_case->resident; }
  bool is_good() const {
    return fused && primitives && gain() >= (resident() ? kResident : kStreamed) &&
           (!resident() || (fused->worst <= kIdeal && primitives->worst <= kIdeal));
  }
};

std::vector<Line> lines_of(std::vector<Result>& results) {
  std::vector<Line> lines;
  std::map<std::string, size_t> index;
  for (Result& r : results) {
    if (!r.kernel_case || !r.kernel_case->fused) continue;
    const auto [it, fresh] = index.emplace(r.row + "/" + r.machine + "/" + r.point, lines.size());
    if (fresh) lines.push_back({&r, {}, {}, {}, {}});
    Line& line = lines[it->second];
    line.jobs.push_back(&r);
    if (!r.ok && line.failure.empty()) line.failure = r.message;
    if (r.kernel) (*r.kernel_case->fused ? line.fused : line.primitives) = r.kernel;
  }
  return lines;
}

// That a form cannot be had is for the cause to say; what ran and was wrong is an error whatever it says.
bool has_no_kernel(const Result& r) { return !r.kernel && r.message.find("cs-sim") == std::string::npos; }

template <class F>
std::string shown(const std::optional<KernelFigures>& f, F&& text) {
  return f ? text(*f) : "-";
}

std::string line_text(const Line& line) {
  const KernelCase& c = *line.any->kernel_case;
  const auto cycles = [](const KernelFigures& f) { return fmt::format("{:.0f}", f.cycles); };
  const auto kernels = [](const KernelFigures& f) { return fmt::format("{}", f.kernels); };
  const auto worst = [](const KernelFigures& f) { return fmt::format("{:.2f}", f.worst); };
  const auto ideal = [](const KernelFigures& f) { return fmt::format("{:.0f}", f.ideal); };
  const auto ratio = [](const KernelFigures& f) { return fmt::format("{:.2f}", f.ratio()); };
  return fmt::format(
      "{:<28} {:<26} {:<5} {:>6} {:<8} {:>9} {:>3} {:>10} {:>3} {:>7} {:>9} {:>8} {:>8} {:>8}  {}\n",
      line.any->row, c.shapes(), line.any->machine, c.rect(), c.resident ? "resident" : "streamed",
      shown(line.fused, cycles), shown(line.fused, kernels), shown(line.primitives, cycles),
      shown(line.primitives, kernels), line.gain() > 0 ? fmt::format("{:.2f}", line.gain()) : "-",
      shown(line.fused, ideal), shown(line.fused, ratio), shown(line.fused, worst),
      shown(line.primitives, worst), line.failure.empty() ? c.cause : "FAILED: " + line.failure);
}

}  // namespace

void judge_losses(std::vector<Result>& results) {
  for (Line& line : lines_of(results)) {
    const std::string& cause = line.any->kernel_case->cause;
    for (Result* r : line.jobs) {
      if (!r->ok && !cause.empty() && has_no_kernel(*r)) {
        r->ok = true;
      } else if (r->ok && line.is_good() != cause.empty()) {
        r->ok = false;
        r->message = cause.empty()
                         ? fmt::format(
                               "primitives take {:.2f} x its cycles, a kernel {:.2f} x its ideal; make "
                               "it faster, or name the `cause`",
                               line.gain(), line.fused ? line.fused->worst : 0)
                         : "is as fast as it should be: its `cause` can go";
      }
    }
  }
}

std::string loss_text(const std::vector<Result>& given) {
  std::vector<Result> results = given;
  const std::vector<Line> lines = lines_of(results);
  if (lines.empty()) return "";
  std::string out = fmt::format(
      "{:<28} {:<26} {:<5} {:>6} {:<8} {:>9} {:>3} {:>10} {:>3} {:>7} {:>9} {:>8} {:>8} {:>8}  {}\n", "loss",
      "shapes", "on", "PEs", "operands", "fused", "n", "primitives", "n", "p/fused", "ideal", "f/ideal",
      "worst f", "worst p", "cause");
  for (const Line& line : lines) out += line_text(line);
  for (const bool resident : {false, true}) {
    double sum = 0;
    int count = 0, good = 0, all = 0;
    for (const Line& line : lines) {
      if (line.resident() != resident) continue;
      ++all;
      good += line.is_good() ? 1 : 0;
      if (line.gain() > 0) sum += std::log(line.gain()), ++count;
    }
    if (all > 0)
      out += fmt::format("{}: primitives / fused, geometric mean of {}: {:.3f}; {} of {} as they should be\n",
                         resident ? "resident" : "streamed", count, count > 0 ? std::exp(sum / count) : 0,
                         good, all);
  }
  return out;
}

}  // namespace cs

// Jobs of one case differ in their policy alone; a kernel's origin says which column its cycles belong to.
#include "tools/cs-regress/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace cs {
namespace {

constexpr double kLimit = 1.5;
constexpr const char* kColumns =
    "{:<16} {:<26} {:<5} {:<5} {:>6} {:<8} {:>10} {:>10} {:>6} {:>10} {:<8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}  "
    "{}\n";

struct Line {
  const Result* any = nullptr;
  std::optional<KernelFigures> handwritten, generated;
  std::string failure;
};

// One per row, machine and case, in the order of the suite.
std::vector<Line> lines_of(const std::vector<Result>& results) {
  std::vector<Line> lines;
  std::map<std::string, size_t> index;
  for (const Result& r : results) {
    if (!r.kernel_case || r.kernel_case->fused) continue;
    const auto [it, fresh] = index.emplace(r.row + "/" + r.machine + "/" + r.point, lines.size());
    if (fresh) lines.push_back({&r, {}, {}, {}});
    Line& line = lines[it->second];
    if (!r.ok) line.failure = r.message;
    if (r.kernel) (r.kernel->origin == "handwritten" ? line.handwritten : line.generated) = r.kernel;
  }
  return lines;
}

std::string cycles(const std::optional<KernelFigures>& f) {
  return f ? fmt::format("{:.1f}", f->cycles) : "-";
}
std::string ratio(const std::optional<KernelFigures>& f) {
  return f ? fmt::format("{:.2f}", f->ratio()) : "-";
}
std::string estimate(const std::optional<KernelFigures>& f) {
  return f && f->cycles > 0 ? fmt::format("{:.2f}", f->estimated / f->cycles) : "-";
}

std::string walk(const std::optional<KernelFigures>& f) {
  return f && f->cycles > 0 ? fmt::format("{:.2f}", f->walked / f->cycles) : "-";
}

std::string line_text(const Line& line) {
  const KernelCase& c = *line.any->kernel_case;
  const std::optional<KernelFigures>& one = line.handwritten ? line.handwritten : line.generated;
  std::string both = line.handwritten && line.generated
                         ? fmt::format("{:.2f}", line.generated->cycles / line.handwritten->cycles)
                         : "-";
  return fmt::format(
      fmt::runtime(kColumns),
      line.any->row, c.shapes(), c.half ? "f16" : "f32", line.any->machine, c.rect(),
      c.resident ? "resident" : "streamed", cycles(line.handwritten), cycles(line.generated), both,
      one ? fmt::format("{:.1f}", one->ideal) : "-", one ? one->largest : "-", ratio(line.handwritten),
      ratio(line.generated), estimate(line.handwritten), estimate(line.generated),
      walk(line.handwritten), walk(line.generated),
      line.failure.empty() ? c.cause : "FAILED: " + line.failure);
}

struct Mean {
  double sum = 0;
  int count = 0;
  void add(double x) { sum += std::log(x), ++count; }
  double value() const { return std::exp(sum / count); }
};

std::string means_text(const std::vector<Line>& lines) {
  std::map<std::string, Mean> by_row;
  Mean all;
  int rows = 0, within = 0, good = 0, walks = 0;
  for (const Line& line : lines) {
    for (const auto& f : {line.handwritten, line.generated}) {
      if (!f) continue;
      ++rows;
      within += f->ratio() <= kLimit ? 1 : 0;
      good += std::abs(f->estimated / f->cycles - 1) <= 0.15 ? 1 : 0;
      walks += f->walk_holds() ? 1 : 0;
    }
    if (!line.handwritten || !line.generated) continue;
    by_row[line.any->row].add(line.generated->cycles / line.handwritten->cycles);
    all.add(line.generated->cycles / line.handwritten->cycles);
  }
  std::string out = "generated / handwritten, geometric mean:";
  for (const auto& [row, mean] : by_row) out += fmt::format(" {} {:.3f},", row, mean.value());
  if (all.count > 0) out += fmt::format(" all {:.3f}", all.value());
  return out + fmt::format("\n{} of {} kernels within {} x ideal, {} estimates within 15 %, {} walks within 5 %\n",
                           within, rows, kLimit, good, walks);
}

void judge_ideals(std::vector<Result>& results) {
  std::map<std::string, bool> needed;  // cases with a cause: does a job need it?
  const auto key = [](const Result& r) { return r.row + "/" + r.machine + "/" + r.point; };
  for (Result& r : results) {
    if (!r.ok || !r.kernel || r.kernel_case->fused) continue;
    const bool beyond = r.kernel->ratio() > kLimit, explained = !r.kernel_case->cause.empty();
    if (beyond && !explained) {
      r.ok = false;
      r.message =
          fmt::format("{:.2f} x its ideal cycles; make it faster, or name the `cause`", r.kernel->ratio());
    }
    if (explained) needed[key(r)] = needed[key(r)] || beyond;
  }
  for (Result& r : results) {
    const auto it = needed.find(key(r));
    if (!r.ok || !r.kernel_case || r.kernel_case->fused || it == needed.end() || it->second) continue;
    r.ok = false;
    r.message = fmt::format("is within {} x its ideal cycles: its `cause` can go", kLimit);
  }
}

// A case's reason is needed if one of its kernels, on any machine, is beyond.
void judge_walks(std::vector<Result>& results) {
  std::map<std::string, bool> needed;
  const auto key = [](const Result& r) { return r.row + "/" + r.point; };
  for (Result& r : results) {
    if (!r.kernel || !r.kernel_case->holds_walk) continue;
    const bool explained = !r.kernel_case->walk_missed.empty();
    if (explained) needed[key(r)] |= !r.kernel->walk_holds();
    if (!r.ok || explained || r.kernel->walk_holds()) continue;
    r.ok = false;
    r.message = fmt::format("cs-objdump --cycles says {:.1f} cycles where {:.1f} are simulated; say why: `walk_missed`",
                            r.kernel->walked, r.kernel->cycles);
  }
  for (Result& r : results) {
    const auto it = needed.find(key(r));
    if (!r.ok || it == needed.end() || it->second) continue;
    r.ok = false;
    r.message = "cs-objdump --cycles is within 5 %: its `walk_missed` can go";
  }
}

}  // namespace

void judge_kernels(std::vector<Result>& results) {
  judge_ideals(results);
  judge_walks(results);
}

std::string kernel_text(const std::vector<Result>& results) {
  const std::vector<Line> lines = lines_of(results);
  if (lines.empty()) return "";
  std::string out = fmt::format(
      fmt::runtime(kColumns),
      "kernel", "shapes", "dtype", "on", "PEs", "operands", "hand", "generated", "gen/h", "ideal", "term",
      "h/ideal", "g/ideal", "est h", "est g", "walk h", "walk g", "cause");
  for (const Line& line : lines) out += line_text(line);
  return out + means_text(lines);
}

}  // namespace cs

// Lines are in the order of the suite; a row that fails has its message instead of figures.
#include "tools/cs-regress/network_table.h"

#include <fmt/format.h>

#include <cmath>

namespace cs {
namespace {

constexpr double kNear = 0.15, kFar = 0.30;
constexpr double kSlower = 1.02;  // noise of a table

// Geometric mean of factors.
struct Mean {
  double log_sum = 0;
  int count = 0;
  void add(double factor) { log_sum += std::log(factor), ++count; }
  std::string text() const {
    return count == 0 ? "-" : fmt::format("{:.3g} over {}", std::exp(log_sum / count), count);
  }
};

struct Totals {
  int rows = 0, near = 0, far = 0;
  Mean all, joins, efficiency;
  double lowest = 0;
  std::string slower, lowest_name;
};

void count(const Result& r, const Figures& f, Totals& t) {
  ++t.rows;
  const double error = std::abs(f.estimated / f.interval - 1);
  t.near += error <= kNear ? 1 : 0;
  t.far += error > kFar ? 1 : 0;
  if (f.efficiency > 0) {
    t.efficiency.add(f.efficiency);
    if (t.lowest_name.empty() || f.efficiency < t.lowest) t.lowest = f.efficiency, t.lowest_name = r.name;
  }
  if (r.baseline_interval <= 0) return;
  t.all.add(r.baseline_interval / f.interval);
  if (r.joins) t.joins.add(r.baseline_interval / f.interval);
  if (f.interval > kSlower * r.baseline_interval) t.slower += (t.slower.empty() ? "" : ", ") + r.name;
}

std::string line(const Result& r, size_t width, Totals& totals) {
  if (!r.figures || !r.ok) return fmt::format("{:<{}}  FAILED: {}\n", r.name, width, r.message);
  if (r.figures->interval <= 0)
    return fmt::format("{:<{}}  no interval: the row needs `iterations`\n", r.name, width);
  const Figures& f = *r.figures;
  count(r, f, totals);
  const bool before = r.baseline_interval > 0;
  return fmt::format("{:<{}}  {:>10.0f} {:>10.1f} {:>8.2f} {:>8.2f} {:>9.4f} {:>6} {:>10} {:>8}  {}{}\n", r.name,
                     width, f.estimated, f.interval, f.estimated / f.interval, f.roof, f.efficiency, f.copies,
                     before ? fmt::format("{:.1f}", r.baseline_interval) : "-",
                     before ? fmt::format("{:.2f}", r.baseline_interval / f.interval) : "-",
                     r.joins ? "joins; " : "", f.origins);
}

}  // namespace

std::string network_text(const std::vector<Result>& results) {
  size_t width = 4;
  for (const Result& r : results)
    if (r.network) width = std::max(width, r.name.size());
  std::string out;
  Totals totals;
  for (const Result& r : results) {
    if (!r.network) continue;
    if (out.empty())
      out = fmt::format("{:<{}}  {:>10} {:>10} {:>8} {:>8} {:>9} {:>6} {:>10} {:>8}  {}\n", "name", width,
                        "estimated", "interval", "est/int", "roof", "roof/int", "copies", "baseline", "base/int",
                        "origins");
    out += line(r, width, totals);
  }
  if (totals.rows == 0) return out;
  return out + fmt::format(
                   "estimated interval within 15 %: {} of {}, beyond 30 %: {}\n"
                   "roof / interval (efficiency of the whole wafer), geometric mean: {}; lowest: {:.4f} {}\n"
                   "baseline / interval, geometric mean: {}; of those with joins: {}\n{}",
                   totals.near, totals.rows, totals.far, totals.efficiency.text(), totals.lowest, totals.lowest_name,
                   totals.all.text(), totals.joins.text(),
                   totals.slower.empty() ? "" : "slower than the baseline: " + totals.slower + "\n");
}

}  // namespace cs

// Rows of all kinds of suites; tables of kernels, networks and losses have files of their own.
#include "tools/cs-regress/result_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/cs-regress/classes.h"

namespace cs {

std::string fidelity_text(const std::vector<Result>& results) {
  std::string out;
  for (const Result& r : results) {
    if (!r.expect) continue;
    if (out.empty())
      out = fmt::format("{:<42} {:<40} {:>10} {:>10} {:>9}  {}\n", "source", "point", "expected", "simulated",
                        "error", "allowed");
    const double percent =
        r.measured && r.expect->value != 0 ? 100 * (*r.measured / r.expect->value - 1) : 0.0;
    out += fmt::format("{:<42.42} {:<40} {:>10.6g} {:>10} {:>9}  {}{}\n", r.expect->source, r.name,
                       r.expect->value, r.measured ? fmt::format("{:.6g}", *r.measured) : "-",
                       r.measured ? fmt::format("{:+.2f} %", percent) : "-", r.expect->tolerance_text,
                       !r.ok      ? "  FAILED: " + r.message
                       : r.missed ? "  MISSED: " + r.expect->missed
                                  : "");
  }
  return out;
}

std::string figures_text(const std::vector<Result>& results) {
  size_t width = 4;
  for (const Result& r : results)
    if (!r.expect && !r.kernel_case && !r.network) width = std::max(width, r.name.size());
  std::string out;
  for (const Result& r : results) {
    if (r.expect || r.kernel_case || r.network) continue;
    if (out.empty())
      out = fmt::format("{:<{}}  {:>10} {:>10} {:>8} {:>6}  {}\n", "name", width, "cycles", "interval",
                        "bytes/PE", "colors", "origins");
    const Figures f = r.figures.value_or(Figures{});
    out += fmt::format("{:<{}}  {:>10.0f} {:>10.1f} {:>8.0f} {:>6}  ", r.name, width, f.cycles, f.interval,
                       f.bytes_per_pe, f.colors);
    out += f.origins + (r.ok ? "\n" : (f.origins.empty() ? "FAILED: " : "  FAILED: ") + r.message + "\n");
  }
  return out;
}

static nlohmann::json network_figures(const Figures& f) {
  return {{"estimated_interval_cycles", f.estimated},
          {"roof_cycles", f.roof},
          {"efficiency", f.efficiency},
          {"copies", f.copies}};
}

nlohmann::json to_json(const std::vector<Result>& results) {
  nlohmann::json rows = nlohmann::json::array();
  size_t failed = 0;
  for (const Result& r : results) {
    nlohmann::json row{{"name", r.name}, {"ok", r.ok}, {"message", r.message}, {"seconds", r.seconds}};
    if (r.figures)
      row["figures"] = {{"cycles", r.figures->cycles},
                        {"interval_cycles", r.figures->interval},
                        {"samples_per_second", r.figures->samples_per_second},
                        {"bytes_per_pe", r.figures->bytes_per_pe},
                        {"colors", r.figures->colors},
                        {"origins", r.figures->origins}};
    if (r.measured) row["measured"] = *r.measured;
    if (r.network) {
      row["baseline_interval"] = r.baseline_interval;
      if (r.figures) row["figures"].update(network_figures(*r.figures));
    }
    if (r.kernel)
      row["kernel"] = {{"origin", r.kernel->origin},       {"kernel", r.kernel->kernel},
                       {"cycles", r.kernel->cycles},       {"ideal", r.kernel->ideal},
                       {"largest", r.kernel->largest},     {"ratio", r.kernel->ratio()},
                       {"estimated", r.kernel->estimated}, {"walked", r.kernel->walked},
                       {"cause", r.kernel_case->cause},    {"walk_missed", r.kernel_case->walk_missed}};
    if (r.kernel && r.kernel_case->fused) {
      row["kernel"]["kernels"] = r.kernel->kernels;
      row["kernel"]["worst_ratio"] = r.kernel->worst;
    }
    if (r.expect)
      row["expect"] = {{"value", r.expect->value},
                       {"tolerance", r.expect->tolerance},
                       {"source", r.expect->source},
                       {"gates", r.expect->gates},
                       {"missed", r.missed}};
    if (r.expect && r.measured && r.expect->value != 0)
      row["expect"]["error_percent"] = 100 * (*r.measured / r.expect->value - 1);
    if (!r.error_class.empty()) row["class"] = r.error_class;
    failed += r.ok ? 0 : 1;
    rows.push_back(std::move(row));
  }
  nlohmann::json classes = nlohmann::json::array();
  for (const ClassError& c : class_errors(results))
    classes.push_back({{"class", c.name},
                       {"rows", c.rows},
                       {"points", c.points},
                       {"mean_error_percent", c.mean},
                       {"worst_error_percent", c.worst}});
  return {{"schema", "wafersmith-regress/1"},
          {"passed", results.size() - failed},
          {"failed", failed},
          {"classes", classes},
          {"rows", rows}};
}

}  // namespace cs

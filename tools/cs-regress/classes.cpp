// Mean errors by class, and their text.
#include "tools/cs-regress/classes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

namespace cs {
namespace {

constexpr std::array<std::string_view, 6> kClasses{"fabric", "vector", "scalar",
                                                   "task",   "launch", "foreign library"};

struct Row {
  std::string_view kind;
  double sum = 0, worst = 0;
  size_t points = 0;
};

std::map<std::string, Row> rows_of(const std::vector<Result>& results) {
  std::map<std::string, Row> rows;
  for (const Result& r : results) {
    if (r.error_class.empty() || !r.expect || !r.measured || r.expect->value == 0) continue;
    Row& row = rows[r.row];
    const double error = 100 * (*r.measured / r.expect->value - 1);
    row.kind = r.error_class;
    row.sum += std::abs(error);
    ++row.points;
    if (std::abs(error) > std::abs(row.worst)) row.worst = error;
  }
  return rows;
}

}  // namespace

std::span<const std::string_view> error_classes() { return kClasses; }

std::vector<ClassError> class_errors(const std::vector<Result>& results) {
  const auto rows = rows_of(results);
  std::vector<ClassError> out;
  for (const std::string_view kind : kClasses) {
    ClassError c{std::string(kind)};
    for (const auto& [name, row] : rows) {
      if (row.kind != kind) continue;
      ++c.rows;
      c.points += row.points;
      c.mean += row.sum / double(row.points);
      if (std::abs(row.worst) > std::abs(c.worst)) c.worst = row.worst;
    }
    if (c.rows == 0) continue;
    c.mean /= double(c.rows);
    out.push_back(c);
  }
  return out;
}

std::string class_text(const std::vector<Result>& results) {
  const auto classes = class_errors(results);
  if (classes.empty()) return {};
  std::string out =
      fmt::format("{:<16} {:>5} {:>7} {:>13} {:>9}\n", "class", "rows", "points", "mean |error|", "worst");
  double sum = 0;
  size_t rows = 0, points = 0;
  for (const ClassError& c : classes) {
    out += fmt::format("{:<16} {:>5} {:>7} {:>11.1f} % {:>+7.1f} %\n", c.name, c.rows, c.points, c.mean,
                       c.worst);
    if (c.name == "foreign library") continue;
    sum += c.mean * double(c.rows);
    rows += c.rows;
    points += c.points;
  }
  if (rows > 0)
    out +=
        fmt::format("{:<16} {:>5} {:>7} {:>11.1f} %\n", "all but foreign", rows, points, sum / double(rows));
  return out;
}

}  // namespace cs

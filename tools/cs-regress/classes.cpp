// Mean errors by class, and their text.
#include "tools/cs-regress/classes.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "runtime/support/files.h"

namespace cs {
namespace {

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

std::vector<ClassError> class_errors(const std::vector<Result>& results) {
  const auto rows = rows_of(results);
  std::vector<ClassError> out;
  for (const std::string_view kind : error_classes()) {
    ClassError c{std::string(kind)};
    for (const auto& [name, row] : rows) {
      if (row.kind != kind) continue;
      ++c.rows;
      c.points += int(row.points);
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
  int rows = 0, points = 0;
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

std::vector<Result> with_left_out(std::vector<Result> results, const std::vector<Job>& left_out,
                                  const Table& table) {
  for (const Job& job : left_out) {
    const auto it = table.find(job.name);
    if (it == table.end()) continue;
    results.push_back(result_of(job));
    results.back().measured = it->second.measured;
  }
  return results;
}

std::string classes_path(const std::string& suite_path) {
  return std::filesystem::path(suite_path).replace_extension(".classes.yaml").string();
}

bool write_classes(const std::string& path, const std::vector<Result>& results, Diag& diag) {
  const std::string head =
      "# What our cycles are off by, by what a figure consists of most: mean |error| and worst error over the rows of\n"
      "# the suite that have a class. `cs-regress SUITE --sources DIR --update` writes it.\n";
  return write_file_atomic(path, head + class_errors_yaml(class_errors(results)), diag);
}

std::string compare_classes(const std::string& path, const std::vector<Result>& results, Diag& diag) {
  const auto text = read_file(path, diag, uint64_t(1) << 20);
  const auto committed = text ? read_class_errors(*text, path, diag) : std::nullopt;
  if (!committed) return {};
  const std::string before = class_errors_yaml(*committed), now = class_errors_yaml(class_errors(results));
  return before == now ? "" : fmt::format("committed are\n{}measured are\n{}", before, now);
}

}  // namespace cs

// One line per job, in name order, so that a change of a figure is one line of a diff.
#include "tools/cs-regress/table.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "runtime/support/files.h"
#include "runtime/support/yaml.h"

namespace cs {
namespace {

constexpr double kTolerance = 0.02;

void compare(const char* name, double before, double now, std::string& out) {
  if (std::abs(now - before) <= kTolerance * std::abs(before)) return;
  const double percent = before != 0 ? 100 * (now / before - 1) : 100;
  out +=
      fmt::format("{}{} {:.6g} -> {:.6g} ({:+.1f} %)", out.empty() ? "" : ", ", name, before, now, percent);
}

}  // namespace

std::string table_path(const std::string& suite_path) {
  std::filesystem::path p(suite_path);
  return p.replace_extension(".table.yaml").string();
}

std::optional<Table> read_table(const std::string& path, Diag& diag) {
  Table table;
  if (!std::filesystem::exists(path)) return table;
  const auto doc = YamlDoc::parse_file(path, diag);
  if (!doc) return std::nullopt;
  YamlMap top(doc->root(), "table", diag);
  const YamlNode* rows = top.child("table");
  top.finish();
  if (rows == nullptr || !rows->is_sequence()) {
    diag.error(doc->root().loc(), "a table file has one list 'table'", "make it anew with --update");
    return std::nullopt;
  }
  for (const YamlNode& node : rows->items()) {
    YamlMap row(node, "table row", diag);
    std::string name;
    Figures f;
    row.required("name", name);
    row.required("cycles", f.cycles);
    row.required("interval", f.interval);
    row.required("samples_per_second", f.samples_per_second);
    row.required("bytes_per_pe", f.bytes_per_pe);
    row.required("colors", f.colors);
    row.required("origins", f.origins);
    row.optional("measured", f.measured);
    row.optional("estimated", f.estimated);
    row.finish();
    table[name] = f;
  }
  if (!diag.ok()) return std::nullopt;
  return table;
}

bool write_table(const std::string& path, const Table& table, Diag& diag) {
  std::string text =
      "# Figures of the last accepted run; cs-regress compares them (2 %), --update rewrites them.\n";
  text += table.empty() ? "table: []\n" : "table:\n";
  for (const auto& [name, f] : table)
    text += fmt::format(
        "  - {{name: {}, cycles: {:.0f}, interval: {:.1f}, samples_per_second: {:.1f}, bytes_per_pe: {:.0f}, "
        "colors: {}, origins: {}{}{}}}\n",
        yaml_quote(name), f.cycles, f.interval, f.samples_per_second, f.bytes_per_pe, f.colors,
        yaml_quote(f.origins), f.measured != 0 ? fmt::format(", measured: {:.8g}", f.measured) : "",
        f.estimated != 0 ? fmt::format(", estimated: {:.0f}", f.estimated) : "");
  return write_file_atomic(path, text, diag);
}

std::string compare_figures(const Figures& before, const Figures& now) {
  std::string out;
  compare("cycles", before.cycles, now.cycles, out);
  compare("measured", before.measured, now.measured, out);
  compare("interval", before.interval, now.interval, out);
  compare("estimated interval", before.estimated, now.estimated, out);
  compare("samples/s", before.samples_per_second, now.samples_per_second, out);
  compare("bytes/PE", before.bytes_per_pe, now.bytes_per_pe, out);
  const char* comma = out.empty() ? "" : ", ";
  if (before.colors != now.colors) out += fmt::format("{}colors {} -> {}", comma, before.colors, now.colors);
  comma = out.empty() ? "" : ", ";
  if (before.origins != now.origins)
    out += fmt::format("{}origins '{}' -> '{}'", comma, before.origins, now.origins);
  return out;
}

}  // namespace cs

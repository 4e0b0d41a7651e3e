// Rows of --json as an HTML table: a column is a head, a way to its cell, and is there if any row has it.
#include "tools/cs-regress/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace cs {
namespace {

using nlohmann::json;

constexpr const char* kPage = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #1c2733; background: #fff }}
h1 {{ font-size: 1.3em }}
table {{ border-collapse: collapse }}
th, td {{ padding: .2em .7em; text-align: right; border-bottom: 1px solid #dde3e9; white-space: nowrap }}
th {{ position: sticky; top: 0; background: #f3f6f9 }}
.text {{ text-align: left }}
.message {{ text-align: left; white-space: normal; min-width: 20em }}
.failed td {{ background: #fdecea }}
</style></head><body>
<h1>{title}</h1><p>{passed} passed, {failed} failed</p>
<table><thead><tr>{heads}</tr></thead><tbody>
{rows}</tbody></table></body></html>
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

struct Column {
  const char* head;
  const char* pointer;  // JSON pointer into the row
  const char* style;    // class of the cell: numbers have none
};
constexpr Column kColumns[] = {
    {"name", "/name", "text"},
    {"result", "/ok", "text"},
    {"cycles", "/figures/cycles", ""},
    {"interval", "/figures/interval_cycles", ""},
    {"samples/s", "/figures/samples_per_second", ""},
    {"bytes/PE", "/figures/bytes_per_pe", ""},
    {"colors", "/figures/colors", ""},
    {"origins", "/figures/origins", "text"},
    {"simulated", "/measured", ""},
    {"expected", "/expect/value", ""},
    {"error %", "/expect/error_percent", ""},
    {"source", "/expect/source", "text"},
    {"run s", "/seconds", ""},
    {"message", "/message", "message"},
};

std::string cell_text(const json& v) {
  if (v.is_boolean()) return v.get<bool>() ? "passed" : "FAILED";
  if (v.is_number_float())
    return fmt::format("{:.{}f}", v.get<double>(), std::abs(v.get<double>()) < 100 ? 2 : 0);
  return escaped(v.is_string() ? v.get<std::string>() : v.dump());
}

const json* value_of(const json& row, const Column& c) {
  const json::json_pointer at(c.pointer);
  if (!row.contains(at)) return nullptr;
  const json& v = row.at(at);
  // CSL programs have no samples and no kernels, rows that pass no message.
  const bool nothing = v == "" || (v == 0 && std::string_view(c.pointer).starts_with("/figures"));
  return nothing ? nullptr : &v;
}

std::string tag(const char* name, const char* style, const std::string& text) {
  return *style == 0 ? fmt::format("<{0}>{1}</{0}>", name, text)
                     : fmt::format("<{0} class=\"{2}\">{1}</{0}>", name, text, style);
}

}  // namespace

std::string html_summary(const std::string& title, const json& run) {
  std::vector<const json*> rows;
  for (const json& row : run.at("rows")) rows.push_back(&row);
  std::stable_partition(rows.begin(), rows.end(), [](const json* row) { return !row->value("ok", false); });
  std::vector<Column> columns;
  for (const Column& c : kColumns) {
    const auto has = [&](const json* row) { return value_of(*row, c) != nullptr; };
    if (std::any_of(rows.begin(), rows.end(), has)) columns.push_back(c);
  }
  std::string heads, body;
  for (const Column& c : columns) heads += tag("th", c.style, c.head);
  for (const json* row : rows) {
    body += row->value("ok", false) ? "<tr>" : "<tr class=\"failed\">";
    for (const Column& c : columns) {
      const json* v = value_of(*row, c);
      body += tag("td", c.style, v ? cell_text(*v) : "");
    }
    body += "</tr>\n";
  }
  return fmt::format(fmt::runtime(kPage), fmt::arg("title", escaped(title)),
                     fmt::arg("passed", run.value("passed", 0)), fmt::arg("failed", run.value("failed", 0)),
                     fmt::arg("heads", heads), fmt::arg("rows", body));
}

}  // namespace cs

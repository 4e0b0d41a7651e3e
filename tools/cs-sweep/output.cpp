// Rows are flat, so that CSV, JSON and the page show the same columns.
#include "tools/cs-sweep/output.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_sweep_page();
}

namespace cs::sweep {
namespace {

using Json = nlohmann::ordered_json;

// A number where it reads as one, so that plots have a scale.
Json value_of(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? Json(parsed) : Json(text);
}

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string_view part(std::string_view name) {
  for (const auto& [path, text] : embedded_sweep_page())
    if (path == name) return text;
  return {};
}

void replace(std::string& text, std::string_view marker, std::string_view with) {
  if (const size_t at = text.find(marker); at != std::string::npos) text.replace(at, marker.size(), with);
}

}  // namespace

Json rows_json(const std::vector<Point>& points, const std::vector<Json>& results) {
  Json rows = Json::array();
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    Json row{{"program", p.program->name}, {"machine", p.machine}, {"policy", p.policy}};
    for (const auto& [key, value] : p.set) row[key] = value_of(value);
    for (const auto& [name, value] : p.params) row["params." + name] = value_of(value);
    row["outcome"] = results[i].value("outcome", "");
    const Json figures = results[i].value("figures", Json::object());
    for (const auto& [name, value] : figures.items()) row[name] = value;
    row["error"] = results[i].value("error", "");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string csv(const Json& rows) {
  std::vector<std::string> columns;
  for (const Json& row : rows)
    for (const auto& [name, value] : row.items())
      if (name != "error" && std::find(columns.begin(), columns.end(), name) == columns.end())
        columns.push_back(name);
  columns.push_back("error");
  std::string out;
  for (const std::string& name : columns) out += (out.empty() ? "" : ",") + cell(name);
  out += "\n";
  for (const Json& row : rows) {
    std::string line;
    for (const std::string& name : columns)
      line += (&name == &columns[0] ? "" : ",") + (row.contains(name) ? cell(row[name]) : std::string());
    out += line + "\n";
  }
  return out;
}

std::string page(const Json& rows) {
  std::string data = rows.dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  for (const char c : data) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  std::string out(part("page.html"));
  replace(out, "/*STYLE*/", part("style.css"));
  replace(out, "/*SCRIPT*/", part("plot.js"));
  replace(out, "/*DATA*/", safe);
  return out;
}

}  // namespace cs::sweep

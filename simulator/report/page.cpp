// Puts style, scripts and data into the page's markup. The parts are files in page/, embedded at build time.
#include "simulator/report/page.h"

#include <string_view>
#include <utility>
#include <vector>

#include "runtime/support/diag.h"
#include "simulator/report/stats_json.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_report_page();
}

namespace cs::sim {
namespace {

std::string_view part(std::string_view name) {
  for (const auto& [path, text] : embedded_report_page())
    if (path == name) return text;
  CS_CHECK(false, "a part of the report page is missing");
  return {};
}

void replace(std::string& text, std::string_view marker, std::string_view with) {
  const size_t at = text.find(marker);
  CS_CHECK(at != std::string::npos, "the report page has lost a marker");
  text.replace(at, marker.size(), with);
}

// "</" and "<!" mean something inside a script element; in a JSON string "\u003c" is the same character as
// "<".
std::string script_safe(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string report_page(const RunReport& r) {
  std::string page(part("page.html"));
  replace(page, "/*STYLE*/", part("style.css"));
  std::string script;
  for (const char* name :
       {"base.js", "tables.js", "maps.js", "csl.js", "timeline.js", "training.js", "waits.js", "main.js"})
    script += part(name);
  replace(page, "/*SCRIPT*/", script);
  replace(page, "/*DATA*/", script_safe(page_json(r)));
  return page;
}

}  // namespace cs::sim

// One line per class.
#include "runtime/support/class_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/support/yaml.h"

namespace cs {
namespace {

constexpr std::array<std::string_view, 6> kClasses{"fabric", "vector", "scalar",
                                                   "task",   "launch", "foreign library"};

ClassError read_class(const YamlNode& node, Diag& diag) {
  ClassError c;
  YamlMap map(node, "a class of errors", diag);
  if (!map.valid()) return c;
  map.required("class", c.name);
  map.required("rows", c.rows);
  map.required("points", c.points);
  map.required("mean_percent", c.mean);
  map.required("worst_percent", c.worst);
  map.finish();
  if (std::ranges::find(kClasses, c.name) == kClasses.end())
    diag.error(node.loc(), "there is no class '" + c.name + "'");
  return c;
}

}  // namespace

std::span<const std::string_view> error_classes() { return kClasses; }

std::optional<std::vector<ClassError>> read_class_errors(std::string text, const std::string& file,
                                                         Diag& diag) {
  const size_t errors = diag.errors();
  const auto doc = YamlDoc::parse_text(std::move(text), file, diag);
  if (!doc) return std::nullopt;
  YamlMap top(doc->root(), "errors of classes", diag);
  const YamlNode* rows = top.valid() ? top.child("classes") : nullptr;
  top.finish();
  if (rows == nullptr || !rows->is_sequence()) {
    diag.error(doc->root().loc(), "a list 'classes' is needed");
    return std::nullopt;
  }
  std::vector<ClassError> out;
  for (const YamlNode& node : rows->items()) out.push_back(read_class(node, diag));
  if (diag.errors() > errors) return std::nullopt;
  return out;
}

std::string class_errors_yaml(const std::vector<ClassError>& classes) {
  std::string out = "classes:\n";
  for (const ClassError& c : classes)
    out +=
        fmt::format("  - {{class: {}, rows: {}, points: {}, mean_percent: {:.1f}, worst_percent: {:.1f}}}\n",
                    yaml_quote(c.name), c.rows, c.points, c.mean, c.worst);
  return out;
}

}  // namespace cs

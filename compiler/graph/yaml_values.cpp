// Numbers are read by from_chars: no locale, no trailing text, the nearest double.
#include "compiler/graph/yaml_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cs::graph {

std::optional<double> parse_number(const std::string& text) {
  if (text == ".inf" || text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-.inf" || text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == ".nan" || text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double v = 0;
  const char* first = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  auto [end, ec] = std::from_chars(first, text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t v = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

ops::AttrKind guess_kind(const YamlNode& value) {
  if (value.is_sequence()) {
    for (const YamlNode& item : value.items()) {
      if (!item.is_scalar() || !parse_integer(item.text())) return ops::AttrKind::reals;
    }
    return ops::AttrKind::integers;
  }
  if (value.is_scalar() && !value.quoted()) {
    if (parse_integer(value.text())) return ops::AttrKind::integer;
    if (parse_number(value.text())) return ops::AttrKind::real;
  }
  return ops::AttrKind::text;
}

std::optional<AttrValue> read_attr(const YamlNode& value, ops::AttrKind kind) {
  bool list = kind == ops::AttrKind::integers || kind == ops::AttrKind::reals;
  if (list != value.is_sequence() || (!list && !value.is_scalar())) return std::nullopt;
  if (kind == ops::AttrKind::text) return value.text();
  std::vector<int64_t> integers;
  std::vector<double> reals;
  for (const YamlNode& item : list ? value.items() : std::vector<YamlNode>{value}) {
    if (!item.is_scalar()) return std::nullopt;
    std::optional<int64_t> i = parse_integer(item.text());
    std::optional<double> d = parse_number(item.text());
    bool whole = kind == ops::AttrKind::integer || kind == ops::AttrKind::integers;
    if (whole ? !i : !d) return std::nullopt;
    integers.push_back(i.value_or(0));
    reals.push_back(d.value_or(0));
  }
  switch (kind) {
    case ops::AttrKind::integer:
      return integers[0];
    case ops::AttrKind::real:
      return reals[0];
    case ops::AttrKind::integers:
      return integers;
    default:
      return reals;
  }
}

std::string number_text(double v) {
  if (std::isnan(v)) return ".nan";
  if (std::isinf(v)) return v < 0 ? "-.inf" : ".inf";
  return fmt::format("{}", v);
}

namespace {

std::string attr_text(const AttrValue& value) {
  struct Visitor {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number_text(v); }
    std::string operator()(const std::string& v) const { return yaml_quote(v); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return fmt::format("[{}]", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<double>& v) const {
      std::string s;
      for (double x : v) s += (s.empty() ? "" : ", ") + number_text(x);
      return "[" + s + "]";
    }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace

std::string attrs_text(const Attrs& attrs) {
  std::string text;
  for (const auto& [key, value] : attrs)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, attr_text(value));
  return "{" + text + "}";
}

std::optional<Attrs> parse_attrs(const std::string& text, const ops::OpDef& row) {
  Diag ignored;
  const auto doc = YamlDoc::parse_text(text, "attrs", ignored);
  if (!doc || !doc->root().is_map()) return std::nullopt;
  Attrs attrs;
  for (const auto& [key, value] : doc->root().entries()) {
    const std::string name = key.text();
    const auto def = std::find_if(row.attrs.begin(), row.attrs.end(),
                                  [&](const ops::AttrDef& a) { return a.name == name; });
    if (def == row.attrs.end()) return std::nullopt;
    std::optional<AttrValue> v = read_attr(value, def->kind);
    if (!v) return std::nullopt;
    ops::set_attr(attrs, name, std::move(*v));
  }
  return attrs;
}

}  // namespace cs::graph

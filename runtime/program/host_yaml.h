// Inside of the host part's text form, shared by host.yaml and the Program's text: both hold the same map.
#pragma once

#include <string>
#include <vector>

#include "runtime/program/names.h"
#include "runtime/program/program.h"
#include "runtime/support/yaml.h"

namespace cs {

// The lines of the map, each behind `indent`. `with_ports`: also the ports (host.yaml; a Program lists them itself).
std::string host_part_lines(const HostPart&, const std::vector<HostPort>& ports, bool with_ports,
                            const std::string& indent);
// Reads the map; reports everything that is wrong with its form.
bool read_host_part(const YamlNode&, HostPart& out, std::vector<HostPort>& ports, bool with_ports, Diag&);

inline constexpr names::Table<4> kTileOrders = {"straight", "ring", "skewed_columns", "skewed_rows"};
// Pieces that both text forms share.
std::string port_line(const HostPort&);
bool read_port(const YamlNode&, HostPort& out, Diag&);
std::string rect_text(const Rect&);
// Also in the text form of graphs.
std::string scalar_text(const HostScalar&);
void read_scalar(YamlMap&, HostScalar& out, Diag&);
bool read_rect(const YamlNode*, Rect& out, SourceLoc missing, Diag&);
// A number that must fit the field's type.
template <typename T>
bool read_number(YamlMap& map, const std::string& key, T& out, int64_t low, int64_t high, Diag& diag) {
  int64_t v = 0;
  if (!map.required(key, v)) return false;
  if (v < low || v > high) {
    diag.error(map.child(key)->loc(), "'" + key + "' is " + std::to_string(v) + ", must be from " +
                                          std::to_string(low) + " to " + std::to_string(high));
    return false;
  }
  out = T(v);
  return true;
}
// A word of an enumeration's table.
template <typename E, size_t N>
bool read_word(YamlMap& map, const std::string& key, E& out, const names::Table<N>& table, Diag& diag) {
  std::string text;
  if (!map.required(key, text)) return false;
  if (const auto v = names::value<E>(table, text)) {
    out = *v;
    return true;
  }
  std::string known;
  for (const std::string_view word : table) known += (known.empty() ? "" : ", ") + std::string(word);
  const std::string near = nearest(text, names::all(table));
  diag.error(map.child(key)->loc(), "'" + key + "' is '" + text + "', must be one of " + known,
             near.empty() ? std::string() : "did you mean '" + near + "'?");
  return false;
}
// Every item of an optional list of maps; `read` gets (map, item) and may report. False if any failed.
template <typename Item, typename Read>
bool read_list(YamlMap& map, const std::string& key, std::vector<Item>& out, Diag& diag, Read read) {
  const YamlNode* list = map.child(key);
  if (list == nullptr || list->is_null()) return true;
  if (!list->is_sequence()) {
    diag.error(list->loc(), "'" + key + "' must be a list");
    return false;
  }
  const size_t errors = diag.errors();
  out.reserve(list->items().size());
  for (const YamlNode& node : list->items()) {
    if (diag.full()) break;
    Item item;
    YamlMap entry(node, "item of " + key, diag);
    if (!entry.valid()) continue;
    read(entry, item);
    entry.finish();
    out.push_back(std::move(item));
  }
  return diag.errors() == errors;
}

}  // namespace cs

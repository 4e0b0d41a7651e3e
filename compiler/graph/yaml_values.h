// Numbers and attribute values in the text form of graphs. Internal to the reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/ops/ops.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

// The whole text as a number; .inf, -.inf and .nan included. Nothing if it is none.
std::optional<double> parse_number(const std::string& text);
std::optional<int64_t> parse_integer(const std::string& text);
// The kind of an attribute that no row describes, by its looks.
ops::AttrKind guess_kind(const YamlNode& value);
// Nothing if the node is not of that kind.
std::optional<AttrValue> read_attr(const YamlNode& value, ops::AttrKind kind);

}  // namespace cs::graph

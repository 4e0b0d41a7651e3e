// Numbers and attribute values in the text form of graphs, both ways.
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
// A number that reads back bit for bit; "{axis: 1, mode: linear}".
std::string number_text(double);
std::string attrs_text(const Attrs&);
// Nothing if the text is none, or names an attribute that the row does not have.
std::optional<Attrs> parse_attrs(const std::string& text, const ops::OpDef& row);

}  // namespace cs::graph

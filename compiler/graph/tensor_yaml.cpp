// Elements one by one, or a piece of the weights.
#include "compiler/graph/tensor_yaml.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/graph/yaml_values.h"

namespace cs::graph {

namespace {

std::optional<ops::Tensor> read_elements(const std::string& what, const std::string& name,
                                         const ops::TensorType& type, const YamlNode& value, Diag& diag) {
  std::vector<YamlNode> items = value.is_sequence() ? value.items() : std::vector<YamlNode>{value};
  if (int64_t(items.size()) != type.elements()) {
    diag.error(value.loc(),
               fmt::format("{} '{}' needs {} elements, has {}", what, name, type.elements(), items.size()));
    return std::nullopt;
  }
  ops::Tensor t(type);
  for (size_t i = 0; i < items.size(); ++i) {
    std::string text = items[i].is_scalar() ? items[i].text() : "";
    if (std::optional<int64_t> n = parse_integer(text); n && !data_type_is_float(type.dtype)) {
      t.set_int(int64_t(i), *n);
    } else if (std::optional<double> d = parse_number(text)) {
      t.set(int64_t(i), *d);
    } else {
      diag.error(items[i].loc(), fmt::format("'{}' is not a number", text));
      return std::nullopt;
    }
  }
  return t;
}

}  // namespace

std::optional<ops::Tensor> read_tensor(YamlMap& m, const std::string& what, const std::string& name,
                                       const ops::TensorType& type, const std::vector<uint8_t>& weights,
                                       Diag& diag) {
  const YamlNode* value = m.child("value");
  int64_t offset = -1;
  m.optional("offset", offset);
  if ((value != nullptr) == (offset >= 0)) {
    diag.error(m.loc(), fmt::format("{} '{}' needs either 'value' or 'offset'", what, name));
    return std::nullopt;
  }
  if (value != nullptr) return read_elements(what, name, type, *value, diag);
  int64_t need = type.bytes(), have = int64_t(weights.size());
  if (offset > have || need > have - offset) {
    diag.error(m.loc(), fmt::format("{} '{}' needs {} bytes at offset {}, the weights file has {} bytes",
                                    what, name, need, offset, have));
    return std::nullopt;
  }
  ops::Tensor t(type);
  std::copy_n(weights.begin() + offset, need, t.bytes.begin());
  return t;
}

}  // namespace cs::graph

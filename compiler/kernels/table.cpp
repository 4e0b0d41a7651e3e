// The library's table over all kinds, its files, and what a node of the graph means in terms of kernels.
//
//   1. work_of asks the kind that takes the node for its numbers.
//   2. match_handwritten looks for a row that lists the operator and asks its kind whether that kernel can do
//   it.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/kernels/kind.h"
#include "compiler/kernels/library.h"
#include "compiler/kernels/match_parts.h"

namespace cs::kernels {

// PEs compute in f32; streams may be 16-bit floats.
bool is_computed(const graph::Graph& g, const graph::Value& v) {
  if (!v.typed) return false;
  return v.type.dtype == DataType::f32 || v.type.dtype == DataType::f16 ||
         (v.type.dtype == DataType::bf16 && graph::bf16_is_half(g));
}

std::vector<const Row*> table() {
  std::vector<const Row*> list;
  for (const Kind* kind : kinds()) {
    for (const Row& row : kind->library()) list.push_back(&row);
  }
  return list;
}

const Row* find_row(std::string_view name) {
  for (const Row* row : table()) {
    if (row->name == name) return row;
  }
  return nullptr;
}

std::vector<std::string_view> files() {
  std::vector<std::string_view> list;
  for (const auto& [name, text] : library().files) list.push_back(name);
  return list;
}

std::string_view source(std::string_view file) {
  const auto found = library().files.find(file);
  return found != library().files.end() ? std::string_view(found->second) : std::string_view();
}

std::vector<std::string_view> imports_of(std::string_view text) {
  std::vector<std::string_view> list;
  const auto add = [&](std::string_view of) {
    for (const auto& [name, ignored] : library().files) {
      const bool imported = of.find(fmt::format("@import_module(\"{}\"", name)) != std::string_view::npos;
      if (imported && std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }
  };
  add(text);
  for (size_t i = 0; i < list.size(); ++i) add(source(list[i]));
  return list;
}

std::optional<Work> work_of(const graph::Graph& g, graph::NodeId id, std::string& why) {
  const graph::Node& node = g.node(id);
  if (node.outputs.size() != 1) {
    why = "it has more than one result";
    return std::nullopt;
  }
  const auto kind =
      std::find_if(kinds().begin(), kinds().end(), [&](const Kind* k) { return k->takes(g, id); });
  const bool numbers = kind != kinds().end() && (*kind)->reads_numbers();
  const graph::Value& result = g.value(node.outputs[0]);
  for (graph::ValueId v : node.inputs) {
    if (!v.valid()) continue;
    const graph::Value& value = g.value(v);
    const bool streams_alike = value.is_constant() || value.type.dtype == result.type.dtype;
    if (is_computed(g, value) && streams_alike) continue;
    if (numbers && !data_type_is_float(value.type.dtype)) continue;
    why = fmt::format("operand '{}' is {}, kernels compute in f32", value.name, ops::type_text(value.type));
    return std::nullopt;
  }
  const bool integers = kind != kinds().end() && (*kind)->makes_numbers() && result.typed &&
                        !data_type_is_float(result.type.dtype);
  if (!is_computed(g, result) && !integers) {
    why = "its result is not a float that PEs compute with";
    return std::nullopt;
  }
  std::optional<Work> work;
  if (kind != kinds().end()) {
    work = (*kind)->match(g, id, why);
  } else {
    why = fmt::format("no kernel pattern for operators of kind {}", ops::op_kind_name(g.op(id).kind));
  }
  if (work) work->half = !integers && result.type.dtype != DataType::f32;
  if (work && (work->n < 1 || work->m < 1 || work->rows < 1)) {
    why = "a tensor is empty";
    return std::nullopt;
  }
  return work;
}

const Row* row_for(std::string_view op) {
  for (const Row* row : table()) {
    if (std::find(row->ops.begin(), row->ops.end(), op) != row->ops.end()) return row;
  }
  return nullptr;
}

const Row* match_handwritten(const graph::Graph& g, graph::NodeId id, std::string& why) {
  const Row* row = row_for(g.node(id).op);
  if (row != nullptr) return row->kind->choose(g, id, why);
  why = fmt::format("no library kernel computes {}", g.node(id).op);
  return nullptr;
}

}  // namespace cs::kernels

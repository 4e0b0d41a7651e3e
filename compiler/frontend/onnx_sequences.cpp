// ONNX import: sequences and optionals. A graph here is static, so a sequence is a list of tensors whose
// length is known while the model is read, and an optional is what it holds or nothing: neither is in the
// graph. The operators on them pick, add and drop names; only splitting and joining become nodes. If and Loop
// hand both on (onnx_bodies.cpp).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx_importer.h"
#include "compiler/graph/fold.h"

namespace cs::frontend {

using graph::ValueId;

namespace {

// Extents of the parts of a dimension: as listed, or parts of one length of which the last may be shorter.
std::optional<std::vector<int64_t>> parts_of(int64_t extent, const ops::Tensor* split) {
  std::vector<int64_t> parts;
  if (split != nullptr && split->type.rank() > 0) {
    int64_t left = extent;
    for (int64_t k = 0; k < split->elements(); ++k) {
      parts.push_back(split->get_int(k));
      if (parts.back() < 0 || parts.back() > left) return std::nullopt;
      left -= parts.back();
    }
    return left == 0 ? std::optional(parts) : std::nullopt;
  }
  const int64_t length = split != nullptr ? split->get_int(0) : 1;
  if (length < 1) return std::nullopt;
  for (int64_t at = 0; at < extent; at += length) parts.push_back(std::min(length, extent - at));
  return parts;
}

}  // namespace

bool Importer::hand_on(int i, const std::string& from, const std::string& to) {
  if (to.empty()) return true;
  if (is_list(from) && exists(to)) return bad(i, fmt::format("two values are called '{}'", to));
  if (absent_.contains(from)) {
    absent_.insert(to);
  } else if (auto it = sequences_.find(from); it != sequences_.end()) {
    sequences_[to] = std::vector<std::string>(it->second);
  } else {
    return copy(i, *g_.find_value(from), to);
  }
  return true;
}

bool Importer::exists(const std::string& name) const {
  return g_.find_value(name).has_value() || is_list(name);
}

const std::vector<std::string>* Importer::sequence_operand(int i, int k) {
  const std::string name = k < node(i).input_size() ? node(i).input(k) : "";
  auto it = sequences_.find(name);
  if (it != sequences_.end()) return &it->second;
  if (failed_.contains(name)) return nullptr;
  bad(i, absent_.contains(name) ? fmt::format("operand {} ('{}') is an optional without a value", k, name)
                                : fmt::format("operand {} ('{}') is not a sequence", k, name));
  return nullptr;
}

std::optional<ValueId> Importer::tensor_operand(int i, int k) {
  const std::string& name = node(i).input(k);
  if (failed_.contains(name)) return std::nullopt;
  std::optional<ValueId> v = g_.find_value(name);
  if (!v)
    bad(i, is_list(name) ? fmt::format("operand {} ('{}') is not a tensor", k, name)
                         : fmt::format("there is no tensor '{}' before this node", name));
  return v;
}

// Operand k of a node as a place among `count` elements; behind the last one if it is not given.
std::optional<size_t> Importer::position(int i, int k, size_t count, bool insert) {
  const int64_t places = int64_t(count) + (insert ? 1 : 0);
  int64_t at = places - 1;
  if (k < node(i).input_size() && !node(i).input(k).empty()) {
    const std::optional<ValueId> v = tensor_operand(i, k);
    const ops::Tensor* t = v ? constant_operand(i, *v, "its position") : nullptr;
    if (t == nullptr) return std::nullopt;
    at = t->get_int(0) < 0 ? t->get_int(0) + int64_t(count) : t->get_int(0);
  }
  if (at >= 0 && at < places) return size_t(at);
  bad(i, fmt::format("position {} does not exist in a sequence of {}", at, count));
  return std::nullopt;
}

bool Importer::give_constant(int i, int64_t value, DataType dtype) {
  const std::string& to = node(i).output(0);
  ops::Tensor t(ops::TensorType{dtype, {}});
  t.set_int(0, value);
  if (!new_value(to)) return false;
  g_.add_constant(to, std::move(t));
  return true;
}

const std::map<std::string, Importer::SequenceStep>& Importer::sequence_steps() {
  static const std::map<std::string, SequenceStep> kSteps = {
      {"SequenceEmpty", &Importer::add_sequence},        {"SequenceConstruct", &Importer::add_sequence},
      {"SequenceInsert", &Importer::insert_element},     {"SequenceErase", &Importer::erase_element},
      {"SequenceAt", &Importer::give_element},           {"SequenceLength", &Importer::give_length},
      {"SplitToSequence", &Importer::split_to_sequence}, {"ConcatFromSequence", &Importer::join_sequence},
      {"SequenceMap", &Importer::map_sequence},          {"Optional", &Importer::add_optional},
      {"OptionalHasElement", &Importer::add_optional},   {"OptionalGetElement", &Importer::add_optional}};
  return kSteps;
}

bool Importer::is_sequence_op(const std::string& op_type) { return sequence_steps().contains(op_type); }

bool Importer::add_sequence_node(int i) {
  const onnx::NodeProto& n = node(i);
  if (n.output_size() == 0) return bad(i, "the node has no result");
  for (const std::string& to : n.output()) {
    if (exists(to)) return bad(i, fmt::format("two values are called '{}'", to));
  }
  // Else it is the identity of a sequence or an optional.
  return is_sequence_op(n.op_type()) ? (this->*sequence_steps().at(n.op_type()))(i) : add_optional(i);
}

bool Importer::add_sequence(int i) {
  std::vector<std::string> elements;
  for (int k = 0; k < node(i).input_size(); ++k) {
    if (!tensor_operand(i, k)) return false;
    elements.push_back(node(i).input(k));
  }
  sequences_[node(i).output(0)] = std::move(elements);
  return true;
}

bool Importer::insert_element(int i) {
  const std::vector<std::string>* from = sequence_operand(i, 0);
  if (from == nullptr || node(i).input_size() < 2 || !tensor_operand(i, 1)) return false;
  std::vector<std::string> elements = *from;
  const std::optional<size_t> at = position(i, 2, elements.size(), true);
  if (!at) return false;
  elements.insert(elements.begin() + int64_t(*at), node(i).input(1));
  sequences_[node(i).output(0)] = std::move(elements);
  return true;
}

bool Importer::erase_element(int i) {
  const std::vector<std::string>* from = sequence_operand(i, 0);
  if (from == nullptr) return false;
  std::vector<std::string> elements = *from;
  const std::optional<size_t> at = position(i, 1, elements.size(), false);
  if (!at) return false;
  elements.erase(elements.begin() + int64_t(*at));
  sequences_[node(i).output(0)] = std::move(elements);
  return true;
}

bool Importer::give_element(int i) {
  const std::vector<std::string>* from = sequence_operand(i, 0);
  if (from == nullptr) return false;
  const std::optional<size_t> at = position(i, 1, from->size(), false);
  return at && copy(i, *g_.find_value((*from)[*at]), node(i).output(0));
}

bool Importer::give_length(int i) {
  const std::vector<std::string>* from = sequence_operand(i, 0);
  return from != nullptr && give_constant(i, int64_t(from->size()), DataType::i64);
}

bool Importer::split_to_sequence(int i) {
  if (node(i).input_size() == 0) return bad(i, "the node has no operand");
  const ops::Tensor* split = nullptr;
  if (node(i).input_size() > 1 && !node(i).input(1).empty()) {
    std::optional<ValueId> v = tensor_operand(i, 1);
    split = v ? graph::fold_value(g_, *v, diag_) : nullptr;
    if (split == nullptr || split->type.rank() > 1 || split->elements() == 0)
      return bad(i, fmt::format("where it splits ('{}') is not a list of constants", node(i).input(1)));
  }
  const std::optional<ValueId> x = tensor_operand(i, 0);
  if (!x) return false;
  const ops::TensorType type = g_.value(*x).type;
  int64_t axis = integer_of(node(i), "axis", 0);
  axis += axis < 0 ? type.rank() : 0;
  if (axis < 0 || axis >= type.rank())
    return bad(i, fmt::format("axis {} does not exist in {}", axis, ops::type_text(type)));
  const auto parts = parts_of(type.shape[size_t(axis)], split);
  if (!parts)
    return bad(i, fmt::format("its parts are not those of dimension {} of {}", axis, ops::type_text(type)));
  std::vector<std::string> elements;
  for (size_t k = 0; k < parts->size(); ++k)
    elements.push_back(g_.fresh_name(fmt::format("{}_part_{}", names_[size_t(i)], k)));
  if (parts->size() == 1) {
    if (!copy(i, *x, elements[0])) return false;
  } else if (!parts->empty() && !emit(i, names_[size_t(i)], *ops::find_op("split"), {*x},
                                      {{"axis", axis}, {"split", *parts}}, elements)
                                     .valid()) {
    return false;
  }
  // Without `split` a part of one element may leave its dimension out.
  if (split == nullptr && integer_of(node(i), "keepdims", 1) == 0) {
    ops::Shape shape = type.shape;
    shape.erase(shape.begin() + axis);
    for (std::string& e : elements) {
      const ValueId v = reshaped(i, *g_.find_value(e), shape);
      if (!v.valid()) return false;
      e = g_.value(v).name;
    }
  }
  sequences_[node(i).output(0)] = std::move(elements);
  return true;
}

bool Importer::join_sequence(int i) {
  const std::vector<std::string>* from = sequence_operand(i, 0);
  if (from == nullptr) return false;
  if (from->empty()) return bad(i, "it joins a sequence without elements");
  std::vector<ValueId> parts;
  for (const std::string& e : *from) parts.push_back(*g_.find_value(e));
  const int64_t axis = integer_of(node(i), "axis", 0);
  const std::string& to = node(i).output(0);
  if (integer_of(node(i), "new_axis", 0) != 0) return stack(i, parts, axis, to);
  return new_value(to) &&
         emit(i, names_[size_t(i)], *ops::find_op("concat"), parts, {{"axis", axis}}, {to}).valid();
}

bool Importer::add_optional(int i) {
  const onnx::NodeProto& n = node(i);
  const std::string from = n.input_size() > 0 ? n.input(0) : "";
  if (failed_.contains(from)) return false;
  if (!from.empty() && !exists(from))
    return bad(i, fmt::format("there is no value '{}' before this node", from));
  if (n.op_type() == "OptionalHasElement")
    return give_constant(i, !from.empty() && !absent_.contains(from) ? 1 : 0, DataType::boolean);
  if (from.empty()) {
    if (n.op_type() != "Optional") return bad(i, "the node has no operand");
    absent_.insert(n.output(0));
    return true;
  }
  if (n.op_type() == "OptionalGetElement" && absent_.contains(from))
    return bad(i, fmt::format("operand 0 ('{}') is an optional without a value", from));
  return hand_on(i, from, n.output(0));
}

// Its body once per element; other sequences go along, tensors are the same for all.
bool Importer::map_sequence(int i) {
  const onnx::GraphProto* body = body_of(node(i), "body");
  const std::vector<std::string>* first = sequence_operand(i, 0);
  if (first == nullptr) return false;
  if (body == nullptr || body->input_size() != node(i).input_size() ||
      body->output_size() != node(i).output_size())
    return bad(i, "its body has other numbers of operands or results than the node");
  const size_t count = first->size();
  std::vector<std::vector<std::string>> results(size_t(body->output_size()));
  for (size_t e = 0; e < count; ++e) {
    Scope scope = scope_of(i);
    for (int k = 0; k < node(i).input_size(); ++k) {
      const std::string& name = node(i).input(k);
      auto it = sequences_.find(name);
      if (it != sequences_.end() && it->second.size() != count)
        return bad(i, fmt::format("its sequences have {} and {} elements", count, it->second.size()));
      scope[body->input(k).name()] = it != sequences_.end() ? it->second[e] : name;
    }
    std::vector<std::string> given;
    if (!write_body(i, *body, fmt::format("{}/{}", names_[size_t(i)], e), scope, given)) return false;
    for (size_t k = 0; k < given.size(); ++k) results[k].push_back(given[k]);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    for (const std::string& e : results[k]) {
      if (!g_.find_value(e)) return bad(i, fmt::format("its body's result {} is not a tensor", k));
    }
    if (!node(i).output(int(k)).empty()) sequences_[node(i).output(int(k))] = std::move(results[k]);
  }
  return true;
}

}  // namespace cs::frontend

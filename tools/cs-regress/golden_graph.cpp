// Types are inferred node by node, so that builders can ask for extents of what they have just made.
#include "tools/cs-regress/golden_graph.h"

#include <fmt/format.h>

namespace cs::golden {

CaseGraph::CaseGraph(const Case& c, DataType dtype) : case_(c), dtype_(dtype) {
  graph.name = c.op;
  for (char& ch : graph.name) ch = std::isalnum(static_cast<unsigned char>(ch)) != 0 ? ch : '_';
}

void CaseGraph::fail(const std::string& why) {
  if (error_.empty()) error_ = why;
}

const ops::Tensor* CaseGraph::tensor(const std::string& name) {
  const auto it = case_.tensors.find(name);
  if (it != case_.tensors.end()) return &it->second.tensor;
  fail("the case has no tensor '" + name + "'");
  return nullptr;
}

ops::Tensor CaseGraph::converted(const ops::Tensor& t) const {
  if (!data_type_is_float(t.type.dtype) || t.type.dtype == dtype_) return t;
  ops::Tensor out(ops::TensorType{dtype_, t.type.shape});
  for (int64_t i = 0; i < t.elements(); ++i) out.set(i, t.get(i));
  return out;
}

ValueId CaseGraph::add_input(const std::string& name, ops::Tensor value) {
  const ValueId id = graph.add_input(name, value.type);
  inputs.push_back({name, std::move(value)});
  return id;
}

ValueId CaseGraph::input(const std::string& name) {
  if (const auto known = graph.find_value(name)) return *known;
  const ops::Tensor* t = tensor(name);
  return t == nullptr ? ValueId{} : add_input(name, converted(*t));
}

ValueId CaseGraph::condition(const std::string& name) {
  const ops::Tensor* t = tensor(name);
  if (t == nullptr) return {};
  ops::Tensor truth(ops::TensorType{DataType::boolean, t->type.shape});
  for (int64_t i = 0; i < t->elements(); ++i) truth.set_int(i, t->get_int(i) != 0 ? 1 : 0);
  return add_input(name, std::move(truth));
}

ValueId CaseGraph::parameter(const std::string& name) {
  if (const auto known = graph.find_value(name)) return *known;
  const ops::Tensor* t = tensor(name);
  return t == nullptr ? ValueId{} : graph.add_constant(name, converted(*t));
}

ValueId CaseGraph::optional_parameter(const std::string& name) {
  return has(name) ? parameter(name) : ValueId{};
}

ValueId CaseGraph::parameter_rows(const std::string& name, int64_t part, int64_t parts) {
  const ops::Tensor* t = tensor(name);
  if (t == nullptr) return {};
  if (t->type.shape.empty() || t->type.shape[0] % parts != 0) {
    fail(fmt::format("'{}' is {}; its first extent must be a multiple of {}", name, ops::type_text(t->type),
                     parts));
    return {};
  }
  ops::Tensor rows(t->type);
  rows.type.shape[0] /= parts;
  const auto n = rows.type.bytes();
  rows.bytes.assign(t->bytes.begin() + part * n, t->bytes.begin() + (part + 1) * n);
  return graph.add_constant(graph.fresh_name(fmt::format("{}_{}", name, part)), converted(rows));
}

const nlohmann::json* CaseGraph::option(const std::string& name) {
  asked_.insert(name);
  const auto it = case_.options.find(name);
  return it == case_.options.end() ? nullptr : &*it;
}

double CaseGraph::real(const std::string& name, double otherwise) {
  const auto* o = option(name);
  if (o != nullptr && !o->is_number()) fail("option '" + name + "' must be a number");
  return o != nullptr && o->is_number() ? o->get<double>() : otherwise;
}

int64_t CaseGraph::integer(const std::string& name, int64_t otherwise) {
  const auto* o = option(name);
  if (o != nullptr && !o->is_number_integer()) fail("option '" + name + "' must be an integer");
  return o != nullptr && o->is_number_integer() ? o->get<int64_t>() : otherwise;
}

bool CaseGraph::flag(const std::string& name, bool otherwise) {
  const auto* o = option(name);
  if (o != nullptr && !o->is_boolean()) fail("option '" + name + "' must be true or false");
  return o != nullptr && o->is_boolean() ? o->get<bool>() : otherwise;
}

std::string CaseGraph::text(const std::string& name, const std::string& otherwise) {
  const auto* o = option(name);
  if (o != nullptr && !o->is_string()) fail("option '" + name + "' must be a text");
  return o != nullptr && o->is_string() ? o->get<std::string>() : otherwise;
}

ValueId CaseGraph::op(const std::string& row, std::vector<ValueId> operands, Attrs attrs) {
  if (!error_.empty()) return {};
  const ops::OpDef* def = ops::find_op(row);
  if (def == nullptr) {
    fail("the operator table has no row '" + row + "'");
    return {};
  }
  while (!operands.empty() && !operands.back().valid()) operands.pop_back();  // optional ones that are absent
  graph::Node node;
  node.name = graph.fresh_name(row);
  node.op = row;
  node.where = case_.id + ": " + row;
  node.inputs = std::move(operands);
  for (auto& [name, value] : attrs) ops::set_attr(node.attrs, name, std::move(value));
  const graph::NodeId id = graph.add_node(std::move(node));
  const ValueId result = graph.add_result(id, graph.fresh_name(graph.node(id).name + "_y"));
  std::vector<ops::TensorType> types;
  std::vector<std::string> problems;
  std::string why;
  const graph::Node& made = graph.node(id);
  if (!ops::check_node(*def, made.attrs, made.inputs.size(), problems)) {
    fail(row + ": " + problems.front());
  } else if (!ops::infer_types(*def, made.attrs, graph.input_types(id), types, why)) {
    fail(row + ": " + why);
  } else {
    graph.value(result).type = types[0];
    graph.value(result).typed = true;
  }
  return result;
}

namespace {
ValueId add_numbers(graph::Graph& graph, DataType dtype, ops::Shape shape,
                    const std::vector<double>& values) {
  ops::Tensor t(ops::TensorType{dtype, std::move(shape)});
  for (size_t i = 0; i < values.size(); ++i) t.set(int64_t(i), values[i]);
  return graph.add_constant(graph.fresh_name("c"), std::move(t));
}
}  // namespace

ValueId CaseGraph::constant(ops::Shape shape, const std::vector<double>& values) {
  return add_numbers(graph, dtype_, std::move(shape), values);
}

ValueId CaseGraph::wide_constant(ops::Shape shape, const std::vector<double>& values) {
  return add_numbers(graph, wide(), std::move(shape), values);
}

ValueId CaseGraph::cast(ValueId v, DataType to) {
  if (!v.valid() || graph.value(v).type.dtype == to) return v;
  return op("cast", {v}, {{"to", std::string(data_type_name(to))}});
}

ValueId CaseGraph::number(double value) { return constant({}, {value}); }

int CaseGraph::rank(ValueId v) const { return v.valid() ? graph.value(v).type.rank() : 0; }

int64_t CaseGraph::extent(ValueId v, int dim) const {
  const int n = rank(v), at = dim < 0 ? dim + n : dim;
  return at >= 0 && at < n ? graph.value(v).type.shape[size_t(at)] : 1;
}

bool CaseGraph::finish(ValueId result) {
  for (const auto& [name, value] : case_.options.items())
    if (!asked_.contains(name)) fail("option '" + name + "' is not one of this operation");
  if (!error_.empty()) return false;
  graph.rename(result, "output");
  graph.set_output(result);
  Diag diag;
  if (!graph::verify(graph, diag)) fail(diag.to_string());
  return error_.empty();
}

}  // namespace cs::golden

// Types are inferred node by node, so that builders can ask for extents of what they have just made.
#include "tools/cs-regress/golden_graph.h"

#include <fmt/format.h>

#include "compiler/graph/gradients.h"

namespace cs::golden {

CaseGraph::CaseGraph(const Case& c, DataType dtype) : case_(c), own_(dtype), dtype_(dtype) {
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
  if (!data_type_is_float(t.type.dtype) || t.type.dtype == own_) return t;
  ops::Tensor out(ops::TensorType{own_, t.type.shape});
  for (int64_t i = 0; i < t.elements(); ++i) out.set(i, t.get(i));
  return out;
}

ValueId CaseGraph::add_input(const std::string& name, ops::Tensor value) {
  const ValueId id = graph.add_input(name, value.type);
  inputs.push_back({name, std::move(value)});
  return id;
}

ValueId CaseGraph::input(const std::string& name) {
  if (const auto known = graph.find_value(name)) return widened(*known);
  const ops::Tensor* t = tensor(name);
  return t == nullptr ? ValueId{} : widened(add_input(name, converted(*t)));
}

ValueId CaseGraph::scalar_input(const std::string& name, double value) {
  ops::Tensor number(ops::TensorType{wide(), {}});
  number.set(0, value);
  return add_input(name, std::move(number));
}

ValueId CaseGraph::condition(const std::string& name) {
  if (const auto known = graph.find_value(name)) return *known;
  const ops::Tensor* t = tensor(name);
  if (t == nullptr) return {};
  ops::Tensor truth(ops::TensorType{DataType::boolean, t->type.shape});
  for (int64_t i = 0; i < t->elements(); ++i) truth.set_int(i, t->get_int(i) != 0 ? 1 : 0);
  return add_input(name, std::move(truth));
}

ValueId CaseGraph::parameter(const std::string& name) {
  if (const auto known = graph.find_value(name)) return widened(*known);
  const ops::Tensor* t = tensor(name);
  return t == nullptr ? ValueId{} : widened(graph.add_constant(name, converted(*t)));
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
  const int64_t rows = t->type.shape[0] / parts;
  return op("slice", {parameter(name)},
            {{"starts", ops::Shape{part * rows}},
             {"ends", ops::Shape{(part + 1) * rows}},
             {"axes", ops::Shape{0}}});
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

std::vector<double> CaseGraph::reals(const std::string& name, std::vector<double> otherwise) {
  const auto* o = option(name);
  if (o == nullptr) return otherwise;
  std::vector<double> values;
  if (o->is_array())
    for (const auto& v : *o)
      if (v.is_number()) values.push_back(v.get<double>());
  if (values.size() == otherwise.size() && o->size() == values.size()) return values;
  fail(fmt::format("option '{}' must be a list of {} numbers", name, otherwise.size()));
  return otherwise;
}

ValueId CaseGraph::op(const std::string& row, std::vector<ValueId> operands, const Attrs& attrs) {
  const std::vector<ValueId> all = results(row, std::move(operands), attrs, 1);
  return all.empty() ? ValueId{} : all[0];
}

std::vector<ValueId> CaseGraph::results(const std::string& row, std::vector<ValueId> operands,
                                        const Attrs& attrs, size_t most) {
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
  for (const auto& [name, value] : attrs) ops::set_attr(node.attrs, name, value);
  const graph::NodeId id = graph.add_node(std::move(node));
  std::vector<ops::TensorType> types;
  std::vector<std::string> problems;
  std::string why;
  const graph::Node& made = graph.node(id);
  if (!ops::check_node(*def, made.attrs, made.inputs.size(), problems)) {
    fail(row + ": " + problems.front());
  } else if (!ops::infer_types(*def, made.attrs, graph.input_types(id), types, why)) {
    fail(row + ": " + why);
  }
  types.resize(std::min(types.size(), most));
  std::vector<ValueId> all;
  for (const ops::TensorType& type : types) {
    all.push_back(graph.add_result(id, graph.fresh_name(graph.node(id).name + "_y")));
    graph.value(all.back()).type = type;
    graph.value(all.back()).typed = true;
  }
  return all;
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

void CaseGraph::widen() { dtype_ = wide(); }

ValueId CaseGraph::widened(ValueId v) {
  const DataType own = graph.value(v).type.dtype;
  if (!data_type_is_float(own) || own == dtype_) return v;
  const auto known = widened_.find(v);
  return known != widened_.end() ? known->second : widened_[v] = cast(v, dtype_);
}

// "grad.NAME" is the gradient of the tensor NAME, an operand or a constant of the graph.
void CaseGraph::add_expected_gradients(ValueId of) {
  const std::string prefix = "grad.";
  std::vector<std::string> names;
  std::vector<ValueId> wanted, gradients;
  for (const auto& [name, t] : case_.tensors) {
    if (t.role != "expected" || !name.starts_with(prefix)) continue;
    const auto value = graph.find_value(name.substr(prefix.size()));
    if (!value) return fail("'" + name + "' is expected, but the operation does not use that tensor");
    names.push_back(name);
    wanted.push_back(*value);
  }
  if (wanted.empty()) return;
  const ops::Tensor* upstream = tensor("grad_output");
  if (upstream == nullptr) return;
  const ValueId up = widened(add_input("grad_output", converted(*upstream)));
  if (!error_.empty()) return;
  const std::pair<ValueId, ValueId> output{of, up};
  Diag diag;
  if (!graph::add_gradients(graph, std::span(&output, 1), wanted, gradients, diag))
    return fail(diag.to_string());
  for (size_t i = 0; i < names.size(); ++i) {
    // An output of its own, also where it is the gradient from above or that of another operand.
    if (!graph.value(gradients[i]).producer.valid() || graph.value(gradients[i]).is_output)
      gradients[i] = op("identity", {gradients[i]});
    if (!error_.empty()) return;
    graph.rename(gradients[i], names[i]);
    graph.set_output(gradients[i]);
  }
  graph.remove_dead();
}

bool CaseGraph::finish(ValueId result, ValueId differentiated) {
  if (!set_outputs({{"output", result}})) return false;
  add_expected_gradients(differentiated);
  return verified();
}

bool CaseGraph::finish(const std::vector<std::pair<std::string, ValueId>>& outputs) {
  return set_outputs(outputs) && verified();
}

bool CaseGraph::set_outputs(const std::vector<std::pair<std::string, ValueId>>& outputs) {
  for (const auto& [name, value] : case_.options.items())
    if (!asked_.contains(name)) fail("option '" + name + "' is not one of this operation");
  if (!error_.empty()) return false;
  for (const auto& [name, value] : outputs) {
    graph.rename(value, name);
    graph.set_output(value);
  }
  return true;
}

bool CaseGraph::verified() {
  Diag diag;
  if (error_.empty() && !graph::verify(graph, diag)) fail(diag.to_string());
  return error_.empty();
}

}  // namespace cs::golden

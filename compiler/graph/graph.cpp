// Graph: edges with their users kept in step, orders, names.
#include "compiler/graph/graph.h"

#include <algorithm>
#include <queue>
#include <set>

#include <fmt/format.h>

namespace cs::graph {

ValueId Graph::add_input(const std::string& name, ops::TensorType type, int sample_dim) {
  Value v;
  v.name = name;
  v.type = std::move(type);
  v.typed = true;
  v.sample_dim = sample_dim;
  v.is_input = true;
  ValueId id = push_value(std::move(v));
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(const std::string& name, ops::Tensor tensor) {
  return add_constant(name, std::make_shared<const ops::Tensor>(std::move(tensor)));
}

ValueId Graph::add_constant(const std::string& name, std::shared_ptr<const ops::Tensor> tensor) {
  Value v;
  v.name = name;
  v.type = tensor->type;
  v.typed = true;
  v.constant = int(constants.size());
  constants.push_back(std::move(tensor));
  return push_value(std::move(v));
}

NodeId Graph::add_node(Node node) {
  CS_CHECK(node.outputs.empty(), "results are added by add_result");
  std::vector<ValueId> operands = node.inputs;
  std::string name = node.name;
  NodeId id = nodes_.push(std::move(node));
  node_names_.emplace(std::move(name), id);
  for (ValueId v : operands) add_use(id, v);
  return id;
}

ValueId Graph::add_result(NodeId node, const std::string& value_name) {
  Value v;
  v.name = value_name;
  v.producer = node;
  v.result = int(nodes_[node].outputs.size());
  ValueId id = push_value(std::move(v));
  nodes_[node].outputs.push_back(id);
  return id;
}

ValueId Graph::push_value(Value v) {
  std::string name = v.name;
  ValueId id = values_.push(std::move(v));
  value_names_.emplace(std::move(name), id);
  return id;
}

void Graph::set_output(ValueId value) {
  values_[value].is_output = true;
  outputs.push_back(value);
}

void Graph::add_use(NodeId user, ValueId value) {
  if (value.valid()) values_[value].users.push_back(user);
}

void Graph::drop_use(NodeId user, ValueId value) {
  if (!value.valid()) return;
  std::vector<NodeId>& users = values_[value].users;
  auto it = std::find(users.begin(), users.end(), user);
  CS_CHECK(it != users.end(), "use is not recorded");
  users.erase(it);
}

void Graph::set_input_of(NodeId node, size_t operand, ValueId value) {
  drop_use(node, nodes_[node].inputs[operand]);
  nodes_[node].inputs[operand] = value;
  add_use(node, value);
}

void Graph::set_inputs_of(NodeId node, std::vector<ValueId> values) {
  for (ValueId v : nodes_[node].inputs) drop_use(node, v);
  nodes_[node].inputs = std::move(values);
  for (ValueId v : nodes_[node].inputs) add_use(node, v);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<NodeId> users = values_[from].users;
  for (NodeId user : users) {
    for (size_t i = 0; i < nodes_[user].inputs.size(); ++i) {
      if (nodes_[user].inputs[i] == from) set_input_of(user, i, to);
    }
  }
  if (!values_[from].is_output) return;
  CS_CHECK(values_[to].producer.valid() && !values_[to].is_output, "an output must be a node's only output");
  std::string name = values_[from].name;
  std::replace(outputs.begin(), outputs.end(), from, to);
  values_[from].is_output = false;
  values_[to].is_output = true;
  values_[to].sample_dim = values_[from].sample_dim;
  values_[to].sample_stride = values_[from].sample_stride;
  rename(from, fresh_name(name + "_old"));
  rename(to, name);
}

void Graph::erase(NodeId id) {
  Node& node = nodes_[id];
  for (ValueId v : node.outputs) {
    CS_CHECK(values_[v].users.empty() && !values_[v].is_output, "erased node is still used: " + node.name);
    value_names_.erase(values_[v].name);
    values_[v].producer = NodeId{};
  }
  for (ValueId v : node.inputs) drop_use(id, v);
  node_names_.erase(node.name);
  node.inputs.clear();
  node.outputs.clear();
  node.alive = false;
}

void Graph::clear_outputs() {
  for (ValueId v : outputs) values_[v].is_output = false;
  outputs.clear();
}

const State* Graph::state_of_input(const std::string& value) const {
  const auto it =
      std::find_if(states.begin(), states.end(), [&](const State& s) { return s.input == value; });
  return it == states.end() ? nullptr : &*it;
}

const State* Graph::state_of_output(const std::string& value) const {
  const auto it =
      std::find_if(states.begin(), states.end(), [&](const State& s) { return s.output == value; });
  return it == states.end() ? nullptr : &*it;
}

const HostScalar* Graph::scalar_of(const std::string& value) const {
  const auto it =
      std::find_if(scalars.begin(), scalars.end(), [&](const HostScalar& s) { return s.input == value; });
  return it == scalars.end() ? nullptr : &*it;
}

size_t Graph::remove_dead() {
  size_t removed = 0;
  for (size_t i = nodes_.size(); i-- > 0;) {
    // Producers mostly come before users; a second round catches those that do not.
    NodeId id{int32_t(i)};
    if (!nodes_[id].alive) continue;
    bool used = false;
    for (ValueId v : nodes_[id].outputs) used = used || values_[v].is_output || !values_[v].users.empty();
    if (used) continue;
    erase(id);
    ++removed;
  }
  return removed == 0 ? 0 : removed + remove_dead();
}

void Graph::rename(ValueId value, const std::string& name) {
  value_names_.erase(values_[value].name);
  values_[value].name = name;
  value_names_.emplace(name, value);
}

const ops::OpDef& Graph::op(NodeId id) const {
  const ops::OpDef* def = ops::find_op(nodes_[id].op);
  CS_CHECK(def != nullptr, "node of an unknown operator: " + nodes_[id].op);
  return *def;
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> ids;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[NodeId{int32_t(i)}].alive) ids.push_back({int32_t(i)});
  }
  return ids;
}

std::optional<ValueId> Graph::find_value(const std::string& name) const {
  auto it = value_names_.find(name);
  return it == value_names_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<NodeId> Graph::find_node(const std::string& name) const {
  auto it = node_names_.find(name);
  return it == node_names_.end() ? std::nullopt : std::optional(it->second);
}

const ops::Tensor* Graph::constant_of(ValueId id) const {
  return id.valid() && values_[id].constant >= 0 ? constants[size_t(values_[id].constant)].get() : nullptr;
}

std::shared_ptr<const ops::Tensor> Graph::shared_constant_of(ValueId id) const {
  return id.valid() && values_[id].constant >= 0 ? constants[size_t(values_[id].constant)] : nullptr;
}

std::vector<NodeId> Graph::topological() const {
  std::vector<int> waiting(nodes_.size(), 0);
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free;
  for (NodeId id : nodes()) {
    for (ValueId v : nodes_[id].inputs) waiting[size_t(id.index)] += v.valid() && values_[v].producer.valid();
    if (waiting[size_t(id.index)] == 0) free.push(id.index);
  }
  std::vector<NodeId> order;
  while (!free.empty()) {
    NodeId id{free.top()};
    free.pop();
    order.push_back(id);
    for (ValueId v : nodes_[id].outputs) {
      for (NodeId user : values_[v].users) {
        if (--waiting[size_t(user.index)] == 0) free.push(user.index);
      }
    }
  }
  return order;
}

std::string Graph::fresh_name(const std::string& stem) const {
  auto taken = [&](const std::string& n) { return value_names_.count(n) != 0 || node_names_.count(n) != 0; };
  if (!taken(stem)) return stem;
  for (int i = 1;; ++i) {
    std::string name = fmt::format("{}_{}", stem, i);
    if (!taken(name)) return name;
  }
}

std::vector<const ops::TensorType*> Graph::input_types(NodeId id) const {
  std::vector<const ops::TensorType*> types;
  for (ValueId v : nodes_[id].inputs) types.push_back(v.valid() ? &values_[v].type : nullptr);
  return types;
}

std::vector<const ops::Tensor*> Graph::input_values(NodeId id) const {
  std::vector<const ops::Tensor*> values;
  for (ValueId v : nodes_[id].inputs) values.push_back(constant_of(v));
  return values;
}

int64_t Graph::flops(NodeId id) const {
  std::vector<ops::TensorType> results;
  for (ValueId v : nodes_[id].outputs) results.push_back(values_[v].type);
  return ops::op_flops(op(id), nodes_[id].attrs, input_types(id), results);
}

void node_error(const Graph& g, NodeId id, Diag& diag, std::string message, std::string help) {
  const Node& n = g.node(id);
  if (n.loc.valid()) {
    diag.error(n.loc, fmt::format("node '{}': {}", n.name, message), std::move(help));
  } else {
    diag.error_at(n.where.empty() ? "node " + n.name : n.where, std::move(message), std::move(help));
  }
}

bool infer_node(Graph& g, NodeId id, Diag& diag) {
  std::vector<ops::TensorType> types;
  std::string error;
  const std::vector<ValueId>& results = g.node(id).outputs;
  if (!ops::infer_types(g.op(id), g.node(id).attrs, g.input_types(id), types, error, g.input_values(id)) ||
      !ops::check_results(g.op(id), results.size(), types.size(), error)) {
    node_error(g, id, diag, error);
    return false;
  }
  for (size_t i = 0; i < results.size() && i < types.size(); ++i) {
    g.value(results[i]).type = types[i];
    g.value(results[i]).typed = true;
  }
  return true;
}

}  // namespace cs::graph

// Groups (kernel instances) and the expression of a chain of elementwise nodes.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/graph/graph.h"

namespace cs::graph {

namespace {

template <typename T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

bool used_outside(const Graph& g, const std::set<NodeId>& inside, ValueId v) {
  if (g.value(v).is_output) return true;
  for (NodeId user : g.value(v).users) {
    bool outside =
        is_transparent(g, user) ? used_outside(g, inside, g.node(user).outputs[0]) : !inside.count(user);
    if (outside) return true;
  }
  return false;
}

void fill_ports(const Graph& g, Group& group) {
  std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
  for (NodeId id : group.nodes) {
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid()) continue;
      v = source_of(g, v);
      if (g.value(v).is_constant()) {
        add_once(group.constants, v);
      } else if (!g.value(v).producer.valid() || !inside.count(g.value(v).producer)) {
        add_once(group.inputs, v);
      }
    }
    for (ValueId v : g.node(id).outputs) {
      if (used_outside(g, inside, v)) group.outputs.push_back(v);
    }
  }
}

// Builds one expression of all values that the output needs, from the leaves; without recursion, since chains
// have thousands of nodes.
class ChainBuilder {
 public:
  ChainBuilder(const Graph& g, std::span<const NodeId> nodes) : g_(g), inside_(nodes.begin(), nodes.end()) {}

  ChainExpr run(ValueId output) {
    std::vector<ValueId> open = {source_of(g_, output)};
    while (!open.empty()) {
      const ValueId v = open.back();
      const std::optional<ValueId> missing = missing_operand(v);
      if (missing) {
        open.push_back(*missing);
      } else {
        open.pop_back();
        if (!at_.count(v)) at_[v] = is_inside(v) ? node(g_.value(v).producer) : leaf(v);
      }
    }
    expr_.root = at_.at(source_of(g_, output));
    result_.expr = ops::prune(expr_);
    return std::move(result_);
  }

 private:
  bool is_inside(ValueId v) const {
    return g_.value(v).producer.valid() && inside_.count(g_.value(v).producer) > 0;
  }

  std::optional<ValueId> missing_operand(ValueId v) const {
    if (!is_inside(v)) return std::nullopt;
    for (ValueId in : g_.node(g_.value(v).producer).inputs)
      if (!at_.count(source_of(g_, in))) return source_of(g_, in);
    return std::nullopt;
  }

  int leaf(ValueId v) {
    const ops::Tensor* constant = g_.constant_of(v);
    if (constant != nullptr && constant->elements() == 1) return expr_.constant(constant->get(0));
    result_.leaves.push_back(v);
    return expr_.input(int(result_.leaves.size()) - 1);
  }

  int node(NodeId id) {
    const ops::OpDef& row = g_.op(id);
    const Node& n = g_.node(id);
    std::vector<int> operands;
    for (ValueId in : n.inputs) operands.push_back(at_.at(source_of(g_, in)));
    return ops::append(expr_, ops::bind_attrs(ops::op_expression(row), ops::with_defaults(row, n.attrs)),
                       operands);
  }

  const Graph& g_;
  std::set<NodeId> inside_;
  ops::Expr expr_;
  ChainExpr result_;
  std::map<ValueId, int> at_;  // nodes of expr_
};

// Groups so that every one comes after those it depends on; of the ready ones that with the earliest last
// node. Groups that depend on each other in a circle come last, as they are: mapping refuses them.
std::vector<size_t> dataflow_order(const Graph& g, const std::vector<Group>& list,
                                   const std::vector<size_t>& last) {
  std::map<NodeId, size_t> group_of;
  for (size_t i = 0; i < list.size(); ++i) {
    for (NodeId id : list[i].nodes) group_of[id] = i;
  }
  std::vector<std::set<size_t>> users(list.size());
  std::vector<size_t> waits(list.size(), 0);
  for (const auto& [id, i] : group_of) {
    for (ValueId v : g.node(id).inputs) {
      NodeId producer = v.valid() ? g.value(source_of(g, v)).producer : NodeId{};
      auto from = producer.valid() ? group_of.find(producer) : group_of.end();
      if (from == group_of.end() || from->second == i) continue;
      if (users[from->second].insert(i).second) ++waits[i];
    }
  }
  std::set<std::pair<size_t, size_t>> ready, rest;  // last node, group
  for (size_t i = 0; i < list.size(); ++i) (waits[i] == 0 ? ready : rest).insert({last[i], i});
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t i = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(i);
    for (size_t user : users[i]) {
      if (--waits[user] > 0) continue;
      rest.erase({last[user], user});
      ready.insert({last[user], user});
    }
  }
  for (const auto& [position, i] : rest) order.push_back(i);
  return order;
}

}  // namespace

bool is_transparent(const Graph& g, NodeId id) {
  return g.op(id).kind == ops::OpKind::view && !g.node(id).assignment.origin;
}

bool bf16_is_half(const Graph& g) {
  bool at_edge = false, f16 = false;
  for (NodeId id : g.nodes()) {
    for (const auto* list : {&g.node(id).inputs, &g.node(id).outputs}) {
      for (ValueId v : *list) f16 = f16 || (v.valid() && g.value(v).type.dtype == DataType::f16);
    }
  }
  for (const auto* list : {&g.inputs, &g.outputs}) {
    for (ValueId v : *list) at_edge = at_edge || g.value(v).type.dtype == DataType::bf16;
  }
  return at_edge && !f16;
}

ValueId source_of(const Graph& g, ValueId value) {
  while (g.value(value).producer.valid() && is_transparent(g, g.value(value).producer)) {
    value = g.node(g.value(value).producer).inputs[0];
  }
  return value;
}

std::vector<Group> groups(const Graph& g) {
  std::vector<Group> list;
  std::vector<size_t> last;  // position of each group's last node
  std::map<std::string, size_t> index;
  size_t position = 0;
  for (NodeId id : g.topological()) {
    if (is_transparent(g, id)) continue;
    const Node& n = g.node(id);
    const std::string& name = n.assignment.group.empty() ? n.name : n.assignment.group;
    auto [it, fresh] = index.emplace(name, list.size());
    if (fresh) {
      list.push_back({name, {}, {}, {}, {}});
      last.push_back(0);
    }
    list[it->second].nodes.push_back(id);
    last[it->second] = position++;
  }
  std::vector<size_t> order = dataflow_order(g, list, last);
  std::vector<Group> sorted;
  for (size_t i : order) sorted.push_back(std::move(list[i]));
  for (Group& group : sorted) fill_ports(g, group);
  return sorted;
}

ChainExpr chain_expression(const Graph& g, std::span<const NodeId> nodes, ValueId output) {
  return ChainBuilder(g, nodes).run(output);
}

}  // namespace cs::graph

// Groups (kernel instances) and the expression of a chain of elementwise nodes.
#include <algorithm>
#include <map>
#include <set>

#include "compiler/graph/graph.h"

namespace cs::graph {

namespace {

template <typename T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

void fill_ports(const Graph& g, Group& group) {
  std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
  for (NodeId id : group.nodes) {
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid()) continue;
      if (g.value(v).is_constant()) {
        add_once(group.constants, v);
      } else if (!g.value(v).producer.valid() || !inside.count(g.value(v).producer)) {
        add_once(group.inputs, v);
      }
    }
    for (ValueId v : g.node(id).outputs) {
      const Value& value = g.value(v);
      bool outside = value.is_output || std::any_of(value.users.begin(), value.users.end(),
                                                    [&](NodeId user) { return !inside.count(user); });
      if (outside) group.outputs.push_back(v);
    }
  }
}

// Builds expressions of values by need, from the leaves.
struct ChainBuilder {
  const Graph& g;
  std::set<NodeId> inside;
  ChainExpr result;
  std::map<ValueId, ops::Expr> done;

  ops::Expr leaf(ValueId v) {
    ops::Expr e;
    const ops::Tensor* constant = g.constant_of(v);
    if (constant != nullptr && constant->elements() == 1) {
      e.root = e.constant(constant->get(0));
      return e;
    }
    add_once(result.leaves, v);
    auto at = std::find(result.leaves.begin(), result.leaves.end(), v) - result.leaves.begin();
    e.root = e.input(int(at));
    return e;
  }

  const ops::Expr& of(ValueId v) {
    auto it = done.find(v);
    if (it != done.end()) return it->second;
    NodeId producer = g.value(v).producer;
    if (!producer.valid() || !inside.count(producer)) return done.emplace(v, leaf(v)).first->second;
    const ops::OpDef& row = g.op(producer);
    const Node& n = g.node(producer);
    std::vector<ops::Expr> operands;
    for (ValueId in : n.inputs) operands.push_back(of(in));
    // A view inside a chain changes no element.
    ops::Expr e = row.expression.empty()
                      ? operands.at(0)
                      : ops::substitute(ops::bind_attrs(ops::op_expression(row), ops::with_defaults(row, n.attrs)), operands);
    return done.emplace(v, std::move(e)).first->second;
  }
};

}  // namespace

std::vector<Group> groups(const Graph& g) {
  std::vector<Group> list;
  std::map<std::string, size_t> index;
  for (NodeId id : g.topological()) {
    const Node& n = g.node(id);
    const std::string& name = n.assignment.group.empty() ? n.name : n.assignment.group;
    auto [it, fresh] = index.emplace(name, list.size());
    if (fresh) list.push_back({name, {}, {}, {}, {}});
    list[it->second].nodes.push_back(id);
  }
  for (Group& group : list) fill_ports(g, group);
  return list;
}

ChainExpr chain_expression(const Graph& g, std::span<const NodeId> nodes, ValueId output) {
  ChainBuilder b{g, {nodes.begin(), nodes.end()}, {}, {}};
  ops::Expr e = b.of(output);
  b.result.expr = std::move(e);
  return std::move(b.result);
}

}  // namespace cs::graph

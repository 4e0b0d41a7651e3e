// The graph verifier: names, edges, order, rows, types. Every violation is reported under its node.
#include <set>

#include <fmt/format.h>

#include "compiler/graph/graph.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

namespace {

void check_names(const Graph& g, Diag& diag) {
  std::set<std::string> nodes, values;
  for (NodeId id : g.nodes()) {
    const Node& n = g.node(id);
    if (n.name.empty()) node_error(g, id, diag, "a node has no name");
    if (!nodes.insert(n.name).second)
      node_error(g, id, diag, fmt::format("two nodes are called '{}'", n.name));
    for (ValueId v : n.outputs) {
      const std::string& name = g.value(v).name;
      if (!values.insert(name).second)
        node_error(g, id, diag, fmt::format("two values are called '{}'", name));
    }
  }
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const Value& v = g.value({int32_t(i)});
    if ((v.is_input || v.is_constant()) && !values.insert(v.name).second) {
      diag.error_at("value " + v.name, "two values have this name");
    }
  }
}

void check_edges(const Graph& g, Diag& diag) {
  std::vector<size_t> uses(g.value_slots(), 0);
  for (NodeId id : g.nodes()) {
    const Node& n = g.node(id);
    for (ValueId v : n.inputs) {
      if (!v.valid()) continue;
      CS_CHECK(g.has_value(v), "operand without a value");
      const Value& value = g.value(v);
      ++uses[size_t(v.index)];
      if (!value.producer.valid() && !value.is_input && !value.is_constant()) {
        node_error(g, id, diag, fmt::format("operand '{}' is produced by nothing", value.name));
      }
    }
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const Value& value = g.value(n.outputs[k]);
      CS_CHECK(value.producer == id && value.result == int(k), "result does not know its node");
    }
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    CS_CHECK(g.value({int32_t(i)}).users.size() == uses[i], "users are stale: " + g.value({int32_t(i)}).name);
  }
  if (g.outputs.empty()) diag.error_at(g.name, "the graph has no outputs");
  for (ValueId v : g.outputs) {
    const Value& value = g.value(v);
    if (!value.producer.valid() && !value.is_input && !value.is_constant()) {
      diag.error_at(g.name, fmt::format("output '{}' is produced by nothing", value.name));
    }
  }
}

void check_order(const Graph& g, Diag& diag) {
  std::vector<NodeId> order = g.topological(), all = g.nodes();
  if (order.size() == all.size()) return;
  std::set<NodeId> ordered(order.begin(), order.end());
  std::string names;
  for (NodeId id : all) {
    if (!ordered.count(id)) names += (names.empty() ? "" : ", ") + g.node(id).name;
  }
  diag.error_at(g.name, "these nodes wait for each other in a cycle, or behind one: " + names);
}

void check_rows(const Graph& g, Diag& diag) {
  for (NodeId id : g.nodes()) {
    const Node& n = g.node(id);
    const ops::OpDef* row = ops::find_op(n.op);
    if (row == nullptr) {
      std::string near = nearest(n.op, ops::op_names());
      node_error(g, id, diag, fmt::format("unknown operator '{}'", n.op),
                 near.empty() ? "cs-compile --list-ops lists the operators"
                              : fmt::format("did you mean '{}'?", near));
      continue;
    }
    std::vector<std::string> errors;
    ops::check_node(*row, n.attrs, n.inputs.size(), errors);
    for (const std::string& e : errors) node_error(g, id, diag, e);
    bool typed = errors.empty();
    for (ValueId v : n.inputs) typed = typed && (!v.valid() || g.value(v).typed);
    for (ValueId v : n.outputs) typed = typed && g.value(v).typed;
    if (!typed) continue;
    std::vector<ops::TensorType> types;
    std::string error;
    if (!ops::infer_types(*row, n.attrs, g.input_types(id), types, error, g.input_values(id)) ||
        !ops::check_results(*row, n.outputs.size(), types.size(), error)) {
      node_error(g, id, diag, error);
      continue;
    }
    for (size_t i = 0; i < types.size() && i < n.outputs.size(); ++i) {
      const Value& v = g.value(n.outputs[i]);
      if (v.type != types[i]) {
        node_error(g, id, diag,
                   fmt::format("'{}' is {}, but {} gives {}", v.name, ops::type_text(v.type), n.op,
                               ops::type_text(types[i])));
      }
    }
  }
}

}  // namespace

bool verify(const Graph& g, Diag& diag) {
  size_t before = diag.errors();
  check_names(g, diag);
  check_edges(g, diag);
  check_order(g, diag);
  check_rows(g, diag);
  return diag.errors() == before;
}

}  // namespace cs::graph

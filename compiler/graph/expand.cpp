// Operators replaced by the primitives of their rows, in place.
#include "compiler/graph/expand.h"

#include <map>

#include <fmt/format.h>

#include "compiler/graph/fold.h"

namespace cs::graph {

namespace {

// A result that is a graph output needs a node that gives no other output: a copy, where the steps end in a
// constant, an operand or another output.
void replace_result(Graph& g, ValueId old, ValueId made, const Node& node, Diag& diag) {
  const Value& to = g.value(made);
  if (g.value(old).is_output && (!to.producer.valid() || to.is_output)) {
    Node copy;
    copy.name = g.fresh_name(node.name + "_copy");
    copy.op = "identity";
    copy.inputs = {made};
    copy.where = node.where;
    NodeId id = g.add_node(std::move(copy));
    made = g.add_result(id, g.fresh_name(node.name + "_copy_out"));
    infer_node(g, id, diag);
  }
  g.replace_uses(old, made);
}

}  // namespace

bool add_steps(Graph& g, const Node& like, std::span<const ops::DecompositionStep> steps,
               std::map<std::string, ValueId>& values, Diag& diag) {
  for (const ops::DecompositionStep& step : steps) {
    Node part;
    part.name = g.fresh_name(fmt::format("{}_{}", like.name, step.op));
    part.op = step.op;
    for (const std::string& operand : step.operands)
      part.inputs.push_back(operand.empty() ? ValueId{} : values.at(operand));
    part.attrs = step.attrs;
    part.loc = like.loc;
    part.where = like.where;
    part.from = like.from.empty() ? like.name : like.from;
    part.from_op = like.from.empty() ? like.op : like.from_op;
    std::string name = part.name;
    NodeId made = g.add_node(std::move(part));
    for (const std::string& result : step.results)
      values[result] = g.add_result(made, g.fresh_name(name + "_out"));
    if (!infer_node(g, made, diag)) return false;
    // Constants among the steps are constants of the graph.
    if (can_fold(g, made)) {
      std::vector<std::string> names;
      for (ValueId v : g.node(made).outputs) names.push_back(g.value(v).name);
      if (!fold_node(g, made, diag)) return false;
      for (size_t k = 0; k < names.size(); ++k) values[step.results[k]] = *g.find_value(names[k]);
    }
  }
  return true;
}

bool expand(Graph& g, NodeId id, Diag& diag) {
  const Node node = g.node(id);
  const ops::OpDef& row = g.op(id);
  std::map<std::string, ValueId> values;
  for (size_t i = 0; i < node.inputs.size(); ++i) values[std::string(row.operands[i])] = node.inputs[i];
  std::vector<ops::DecompositionStep> steps;
  std::string error;
  if (!ops::decompose(row, node.attrs, g.input_types(id), steps, error)) {
    node_error(g, id, diag, error);
    return false;
  }
  if (!add_steps(g, node, steps, values, diag)) return false;
  for (size_t k = 0; k < node.outputs.size(); ++k)
    replace_result(g, node.outputs[k], values.at(std::string(row.results[k])), node, diag);
  g.erase(id);
  // Steps towards results that nobody named.
  g.remove_dead();
  return true;
}

std::optional<NodeId> alone(const Graph& g, NodeId id, Graph& trial, Diag& diag) {
  trial.name = g.name;
  Node copy = g.node(id);
  copy.outputs.clear();
  copy.inputs.clear();
  for (ValueId v : g.node(id).inputs) {
    if (!v.valid()) {
      copy.inputs.push_back(v);
    } else if (auto constant = g.shared_constant_of(v)) {
      copy.inputs.push_back(trial.add_constant(trial.fresh_name(g.value(v).name), std::move(constant)));
      trial.value(copy.inputs.back()).quantised = g.value(v).quantised;
    } else {
      copy.inputs.push_back(trial.add_input(trial.fresh_name(g.value(v).name), g.value(v).type));
    }
  }
  NodeId made = trial.add_node(std::move(copy));
  for (ValueId v : g.node(id).outputs)
    trial.set_output(trial.add_result(made, trial.fresh_name(g.value(v).name)));
  if (!infer_node(trial, made, diag)) return std::nullopt;
  return made;
}

bool expand_all(Graph& g, NodeId id, Diag& diag) {
  const size_t before = g.node_slots();
  if (!expand(g, id, diag)) return false;
  for (size_t i = before; i < g.node_slots(); ++i) {
    const NodeId part{int32_t(i)};
    if (g.node(part).alive && g.op(part).kind == ops::OpKind::compound && !expand_all(g, part, diag))
      return false;
  }
  return true;
}

}  // namespace cs::graph

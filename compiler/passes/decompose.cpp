// Compounds: an operator with a decomposition and no kernel of its own is replaced by the primitives of its row, if
// all of them have kernels that many PEs share; else it is generated whole, as one region. Whether they have is tried
// on a graph that holds only this operator. If neither is possible it runs whole on the host, which is better than
// crossing the edge for every part.
#include <map>

#include <fmt/format.h>

#include "compiler/graph/sample.h"
#include "compiler/kernels/kernels.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Adds the steps of the node's row in front of it and gives its result to the last step. The node is erased.
bool expand(Graph& g, NodeId id, Diag& diag) {
  const graph::Node node = g.node(id);
  const ops::OpDef& row = g.op(id);
  std::map<std::string, ValueId> values;
  for (size_t i = 0; i < node.inputs.size(); ++i) values[std::string(row.operands[i])] = node.inputs[i];
  ValueId last;
  for (const ops::DecompositionStep& step : ops::decompose(row, node.attrs)) {
    graph::Node part;
    part.name = g.fresh_name(fmt::format("{}_{}", node.name, step.op));
    part.op = step.op;
    for (const std::string& operand : step.operands) part.inputs.push_back(values.at(operand));
    part.attrs = step.attrs;
    part.loc = node.loc;
    part.where = node.where;
    part.from = node.from.empty() ? node.name : node.from;
    part.from_op = node.from.empty() ? node.op : node.from_op;
    std::string name = part.name;
    NodeId made = g.add_node(std::move(part));
    last = g.add_result(made, g.fresh_name(name + "_out"));
    if (!graph::infer_node(g, made, diag)) return false;
    values[step.result] = last;
  }
  g.replace_uses(node.outputs[0], last);
  g.erase(id);
  return true;
}

// The node alone: its operands are inputs of the same types.
std::optional<NodeId> alone(const Graph& g, NodeId id, Graph& trial, Diag& diag) {
  trial.name = g.name;
  graph::Node copy = g.node(id);
  copy.outputs.clear();
  copy.inputs.clear();
  for (ValueId v : g.node(id).inputs) {
    copy.inputs.push_back(v.valid() ? trial.add_input(trial.fresh_name(g.value(v).name), g.value(v).type)
                                    : v);
  }
  NodeId made = trial.add_node(std::move(copy));
  trial.set_output(trial.add_result(made, trial.fresh_name(g.value(g.node(id).outputs[0]).name)));
  if (!graph::infer_node(trial, made, diag)) return std::nullopt;
  return made;
}

// Can every part run on the wafer? If not, `why` names the first that cannot.
bool parts_fit(const Graph& g, NodeId id, PassContext& context, std::string& why) {
  Graph trial;
  std::optional<NodeId> node = alone(g, id, trial, context.diag);
  if (!node || !expand(trial, *node, context.diag)) return false;
  // Compounds of compounds are expanded in turn by the caller; here only their parts count.
  for (NodeId part : trial.nodes()) {
    graph::Assignment a = choose_origin(trial, part, context.policy);
    if (a.origin == Origin::host) {
      why = fmt::format("its part {} cannot run on the wafer: {}", trial.node(part).op, a.reason);
      return false;
    }
    std::string none;
    if (a.kernel == "dtg-region" && kernels::match_handwritten(trial, part, none) == nullptr) {
      why = fmt::format("its part {} would be a region of its own", trial.node(part).op);
      return false;
    }
  }
  return true;
}

}  // namespace

bool decompose_compounds(Graph& g, PassContext& context) {
  for (NodeId id : g.topological()) {
    if (g.op(id).kind != ops::OpKind::compound || g.node(id).assignment.origin) continue;
    graph::Assignment whole = choose_origin(g, id, context.policy);
    if (whole.origin == Origin::handwritten) continue;
    std::string why;
    if (parts_fit(g, id, context, why)) {
      if (!expand(g, id, context.diag)) return false;
    } else if (whole.origin == Origin::host) {
      g.node(id).assignment = {Origin::host, "host", "no kernel of its own; " + why, "", {}};
    }
  }
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes

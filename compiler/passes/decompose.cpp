// Compounds: an operator with a decomposition and no kernel of its own is replaced by the primitives of its
// row, if they make one kernel of whole rows, or all of them have kernels that many PEs share; else it is
// generated whole, as one region. Under policy medium rows that are faster by estimate replace a library's
// kernel. Whether they have is tried on a graph that holds only this operator. If neither is possible it runs
// whole on the host, which is better than crossing the edge for every part.
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/row_code.h"
#include "compiler/graph/fold.h"
#include "compiler/graph/sample.h"
#include "compiler/kernels/kernels.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A result that is a graph output needs a node that gives no other output: a copy, where the steps end in a
// constant, an operand or another output.
void replace_result(Graph& g, ValueId old, ValueId made, const graph::Node& node, Diag& diag) {
  const graph::Value& to = g.value(made);
  if (g.value(old).is_output && (!to.producer.valid() || to.is_output)) {
    graph::Node copy;
    copy.name = g.fresh_name(node.name + "_copy");
    copy.op = "identity";
    copy.inputs = {made};
    copy.where = node.where;
    NodeId id = g.add_node(std::move(copy));
    made = g.add_result(id, g.fresh_name(node.name + "_copy_out"));
    graph::infer_node(g, id, diag);
  }
  g.replace_uses(old, made);
}

// Adds the steps of the node's row in front of it and gives its result to the last step. The node is erased.
bool expand(Graph& g, NodeId id, Diag& diag) {
  const graph::Node node = g.node(id);
  const ops::OpDef& row = g.op(id);
  std::map<std::string, ValueId> values;
  for (size_t i = 0; i < node.inputs.size(); ++i) values[std::string(row.operands[i])] = node.inputs[i];
  std::vector<ops::DecompositionStep> steps;
  std::string error;
  if (!ops::decompose(row, node.attrs, g.input_types(id), steps, error)) {
    graph::node_error(g, id, diag, error);
    return false;
  }
  for (const ops::DecompositionStep& step : steps) {
    graph::Node part;
    part.name = g.fresh_name(fmt::format("{}_{}", node.name, step.op));
    part.op = step.op;
    for (const std::string& operand : step.operands)
      part.inputs.push_back(operand.empty() ? ValueId{} : values.at(operand));
    part.attrs = step.attrs;
    part.loc = node.loc;
    part.where = node.where;
    part.from = node.from.empty() ? node.name : node.from;
    part.from_op = node.from.empty() ? node.op : node.from_op;
    std::string name = part.name;
    NodeId made = g.add_node(std::move(part));
    for (const std::string& result : step.results)
      values[result] = g.add_result(made, g.fresh_name(name + "_out"));
    if (!graph::infer_node(g, made, diag)) return false;
    // Constants among the steps are constants of the graph.
    if (graph::can_fold(g, made)) {
      std::vector<std::string> names;
      for (ValueId v : g.node(made).outputs) names.push_back(g.value(v).name);
      if (!graph::fold_node(g, made, diag)) return false;
      for (size_t k = 0; k < names.size(); ++k) values[step.results[k]] = *g.find_value(names[k]);
    }
  }
  for (size_t k = 0; k < node.outputs.size(); ++k)
    replace_result(g, node.outputs[k], values.at(std::string(row.results[k])), node, diag);
  g.erase(id);
  // Steps towards results that nobody named.
  g.remove_dead();
  return true;
}

// The node alone: operands that are not constant are inputs of the same types.
std::optional<NodeId> alone(const Graph& g, NodeId id, Graph& trial, Diag& diag) {
  trial.name = g.name;
  graph::Node copy = g.node(id);
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
  if (!graph::infer_node(trial, made, diag)) return std::nullopt;
  return made;
}

// Compounds among the steps too.
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

// All its primitives make one kernel of whole rows (fuse_rows.cpp); what that costs.
std::optional<mapping::RegionCost> row_kernel(const Graph& g, NodeId id, PassContext& context,
                                              GroupCosts& costs) {
  Graph trial;
  const std::optional<NodeId> node = alone(g, id, trial, context.diag);
  if (context.policy == Policy::disabled || !node || !expand_all(trial, *node, context.diag))
    return std::nullopt;
  std::vector<NodeId> nodes = trial.topological();
  std::erase_if(nodes, [&](NodeId n) { return graph::is_transparent(trial, n); });
  autogen::RowGroup group;
  std::string why;
  if (nodes.size() < 2 || !autogen::make_row_group(trial, nodes, group, why) ||
      !autogen::row_fits(group, context.machine))
    return std::nullopt;
  trial.node(nodes.front()).assignment.kernel = autogen::kRowsKernel;
  return costs.of(trial, nodes);
}

// A library kernel gives way to rows that are faster; what is generated, to any rows.
bool becomes_rows(Graph& g, NodeId id, const graph::Assignment& whole, PassContext& context,
                  GroupCosts& costs) {
  const std::optional<mapping::RegionCost> rows = row_kernel(g, id, context, costs);
  if (!rows) return false;
  if (whole.origin != Origin::handwritten) return true;
  if (!context.weighs()) return false;
  const mapping::RegionCost by_hand = cost_as(g, id, whole, costs);
  const bool faster = is_faster(*rows, by_hand);
  note_choice(context, "decompose", g.node(id).name, {whole.reason, by_hand, ""}, {"its primitives in rows", *rows, ""},
              faster);
  if (!faster) return false;
  context.benefits[g.node(id).name] = benefit_text(*rows, by_hand, whole.reason);
  return true;
}

// Can every part run on the wafer? If not, `why` names the first that cannot.
bool parts_fit(const Graph& g, NodeId id, PassContext& context, std::string& why) {
  Graph trial;
  std::optional<NodeId> node = alone(g, id, trial, context.diag);
  if (!node || !expand(trial, *node, context.diag)) return false;
  // Compounds of compounds are expanded in turn by the caller; here only their parts count.
  for (NodeId part : trial.nodes()) {
    if (trial.op(part).kind == ops::OpKind::view) continue;
    graph::Assignment a = choose_origin(trial, part, context.choosing());
    if (a.origin == Origin::host) {
      why = fmt::format("its part {} cannot run on the wafer: {}", trial.node(part).op, a.reason);
      return false;
    }
    std::string none;
    if (a.kernel == autogen::kRegionKernel && kernels::match_handwritten(trial, part, none) == nullptr) {
      why = fmt::format("its part {} would be a region of its own", trial.node(part).op);
      return false;
    }
  }
  return true;
}

}  // namespace

bool decompose_compounds(Graph& g, PassContext& context) {
  GroupCosts costs(context.machine);
  std::vector<NodeId> nodes = g.topological();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId id = nodes[i];
    if (!g.node(id).alive || g.op(id).kind != ops::OpKind::compound) continue;
    if (!context.fallbacks.refused(g.node(id).name, Origin::autogen).empty()) {
      // It was generated whole, or is part of one that was; its parts may still be.
      const size_t before = g.node_slots();
      if (!expand(g, id, context.diag)) return false;
      for (size_t made = before; made < g.node_slots(); ++made) nodes.push_back(NodeId{int32_t(made)});
      continue;
    }
    if (g.node(id).assignment.origin) continue;
    graph::Assignment whole = choose_origin(g, id, context.choosing(), context.fallbacks);
    if (becomes_rows(g, id, whole, context, costs)) {
      if (!expand_all(g, id, context.diag)) return false;
      continue;
    }
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

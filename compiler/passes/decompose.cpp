// Compounds: an operator with a decomposition and no kernel of its own is replaced by the primitives of its
// row, if they make one kernel of whole rows, or all of them have kernels that many PEs share; else it is
// generated whole, as one region. Under policy medium rows that are faster by estimate replace a library's
// kernel. Whether they have is tried on a graph that holds only this operator. If neither is possible it runs
// whole on the host, which is better than crossing the edge for every part.
#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/row_code.h"
#include "compiler/graph/expand.h"
#include "compiler/graph/sample.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/find_attention.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/losses.h"
#include "compiler/passes/passes.h"
#include "runtime/ops/losses.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;

// All its primitives make one kernel of whole rows (fuse_rows.cpp); what that costs.
std::optional<kernels::Cost> row_kernel(const Graph& g, NodeId id, PassContext& context,
                                              GroupCosts& costs) {
  Graph trial;
  const std::optional<NodeId> node = graph::alone(g, id, trial, context.diag);
  if (context.policy == Policy::disabled || !node || !graph::expand_all(trial, *node, context.diag))
    return std::nullopt;
  std::vector<NodeId> nodes = trial.topological();
  std::erase_if(nodes, [&](NodeId n) { return graph::is_transparent(trial, n); });
  autogen::RowGroup group;
  std::string why;
  if (nodes.size() < 2 || !autogen::make_row_group(trial, nodes, group, why) ||
      !autogen::row_fits(group, context.machine))
    return std::nullopt;
  trial.node(nodes.front()).assignment.kernel = kernels::generated_id(*kernels::rows_kind());
  return costs.of(trial, nodes);
}

// A library kernel gives way to rows that are faster; what is generated, to any rows.
bool becomes_rows(Graph& g, NodeId id, const graph::Assignment& whole, PassContext& context,
                  GroupCosts& costs) {
  const std::optional<kernels::Cost> rows = row_kernel(g, id, context, costs);
  if (!rows) return false;
  if (whole.origin != Origin::handwritten) return true;
  if (!context.weighs()) return false;
  const kernels::Cost by_hand = cost_as(g, id, whole, costs);
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
  std::optional<NodeId> node = graph::alone(g, id, trial, context.diag);
  if (!node || !graph::expand(trial, *node, context.diag)) return false;
  // Compounds of compounds are expanded in turn by the caller; here only their parts count.
  for (NodeId part : trial.nodes()) {
    if (trial.op(part).kind == ops::OpKind::view) continue;
    graph::Assignment a = choose_origin(trial, part, context.choosing());
    if (a.origin == Origin::host) {
      why = fmt::format("its part {} cannot run on the wafer: {}", trial.node(part).op, a.reason);
      return false;
    }
    std::string none;
    const kernels::Row* library = kernels::match_handwritten(trial, part, none);
    // What generated kernels would do on many PEs is not given to one, only because it is there.
    const bool on_one_pe =
        context.policy != Policy::disabled && library != nullptr && !library->kind->several_columns();
    const kernels::Kind* kind = kernels::kernel_of(a.kernel).kind;
    if (on_one_pe || (library == nullptr && kind != nullptr && kind->from_loops())) {
      why = fmt::format("its part {} would be a region of its own", trial.node(part).op);
      return false;
    }
  }
  return true;
}

}  // namespace

bool decompose_compounds(Graph& g, PassContext& context) {
  if (!lower_losses(g, context) || !decompose_products(g, context) || !find_attention(g, context)) return false;
  GroupCosts costs(context.known_costs());
  std::vector<NodeId> nodes = g.topological();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId id = nodes[i];
    if (!g.node(id).alive || g.op(id).kind != ops::OpKind::compound) continue;
    if (ops::is_loss(g.op(id)) && g.node(id).assignment.origin) continue;
    const bool no_parts = context.fallbacks.whole(g.node(id).name);  // streams between them have no way
    const std::string& refused = context.fallbacks.refused(g.node(id).name, Origin::autogen);
    if (no_parts && !refused.empty() && !g.node(id).assignment.origin) {
      g.node(id).assignment = {
          Origin::host, graph::KernelId::host(), "no routes between its parts, and as one kernel: " + refused, "", {}};
      continue;
    }
    if (!refused.empty()) {
      // It was generated whole, or is part of one that was; its parts may still be.
      const size_t before = g.node_slots();
      if (!graph::expand(g, id, context.diag)) return false;
      for (size_t made = before; made < g.node_slots(); ++made) nodes.push_back(NodeId{int32_t(made)});
      continue;
    }
    if (g.node(id).assignment.origin) continue;
    graph::Assignment whole = choose_origin(g, id, context.choosing(), context.fallbacks);
    if (no_parts && whole.origin != Origin::host) continue;
    if (!is_of_loss(g, id) && becomes_rows(g, id, whole, context, costs)) {
      if (!graph::expand_all(g, id, context.diag)) return false;
      continue;
    }
    if (whole.origin == Origin::handwritten) continue;
    // An optimizer's step stays whole, so that one kernel makes the next values of the states that it keeps.
    if (whole.origin == Origin::autogen && !g.states.empty() && g.node(id).outputs.size() > 1) continue;
    std::string why;
    if (parts_fit(g, id, context, why)) {
      if (!graph::expand(g, id, context.diag)) return false;
    } else if (whole.origin == Origin::host) {
      g.node(id).assignment = {Origin::host, graph::KernelId::host(), "no kernel of its own; " + why, "", {}};
    }
  }
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes

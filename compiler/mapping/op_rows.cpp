// In the order of the graph's nodes.
#include "compiler/mapping/op_rows.h"

#include <algorithm>

#include "compiler/graph/pieces.h"
#include "compiler/graph/whole_batch.h"

namespace cs::mapping {

using graph::Graph;
using graph::NodeId;

HostStep host_operator(const graph::Node& node) {
  HostStep step;
  step.kind = HostStep::Kind::op;
  step.op = node.op;
  step.attrs = node.attrs;
  if (const auto inner = graph::is_whole_batch(node) ? graph::batch_operator(node) : std::nullopt) {
    step.op = inner->op;
    step.attrs = inner->attrs;
    step.whole_batch = true;
  }
  return step;
}

KernelRow host_row(const Graph& g, NodeId id) {
  const graph::Node& node = g.node(id);
  KernelRow row;
  row.name = node.name;
  row.op = graph::operator_name(node);
  row.kernel = "host";
  row.origin = Origin::host;
  row.reason = node.assignment.reason;
  row.flops = g.flops(id);
  row.nodes = {node.name};
  return row;
}

void add_op_rows(const Graph& g, const std::map<NodeId, std::vector<std::string>>& kernels_of,
                 HostPart& host) {
  std::map<std::string, size_t> index;
  for (NodeId id : g.nodes()) {
    const graph::Node& node = g.node(id);
    const std::string& name = node.from.empty() ? node.name : node.from;
    auto [it, fresh] = index.emplace(name, host.ops.size());
    if (fresh) {
      OpRow row;
      row.name = name;
      row.op = node.from.empty() ? graph::operator_name(node) : node.from_op;
      row.where = node.where;
      bool view = graph::is_transparent(g, id);
      const bool none = view || graph::is_in_pieces(node);  // nothing is computed for it
      row.origin = !node.from.empty() || none ? Origin::primitive : *node.assignment.origin;
      row.reason = !node.from.empty() ? "replaced by primitives"
                   : view             ? "a view: elements and order stay, nothing is computed"
                                      : node.assignment.reason;
      host.ops.push_back(row);
    }
    if (node.assignment.whole) {
      host.ops[it->second].origin = *node.assignment.origin;
      host.ops[it->second].reason = node.assignment.reason;
    }
    const auto kernels = kernels_of.find(id);
    if (kernels == kernels_of.end()) continue;
    for (const std::string& kernel : kernels->second) {
      std::vector<std::string>& list = host.ops[it->second].kernels;
      if (std::find(list.begin(), list.end(), kernel) == list.end()) list.push_back(kernel);
    }
  }
}

}  // namespace cs::mapping

// Fusion: a generated elementwise node joins the kernel that makes its operand, as an epilogue of a
// contraction or a further link of an elementwise chain, if it is the only user of that result and the
// generator agrees. No cycle can arise: every path from the kernel to the node's other operands would lead
// through the node itself.
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Every use of the value, through transparent views, is by `user`.
bool only_user(const Graph& g, ValueId value, NodeId user) {
  if (g.value(value).is_output) return false;
  for (NodeId u : g.value(value).users) {
    if (u == user) continue;
    if (!graph::is_transparent(g, u) || !only_user(g, g.node(u).outputs[0], user)) return false;
  }
  return true;
}

// What fusion may extend: a contraction of either origin, or a generated elementwise chain.
bool extensible(const Graph& g, NodeId head) {
  std::optional<Origin> origin = g.node(head).assignment.origin;
  bool contraction = g.op(head).kind == ops::OpKind::contraction;
  return origin == Origin::autogen || (contraction && origin == Origin::handwritten);
}

}  // namespace

bool fuse_elementwise(Graph& g, PassContext&) {
  std::map<NodeId, NodeId> head;                  // node -> first node of its kernel
  std::map<NodeId, std::vector<NodeId>> members;  // first node -> kernel, topological order
  for (NodeId id : g.topological()) {
    if (graph::is_transparent(g, id)) continue;
    head[id] = id;
    members[id] = {id};
    graph::Node& node = g.node(id);
    if (g.op(id).kind != ops::OpKind::elementwise || node.assignment.origin != Origin::autogen ||
        !node.assignment.group.empty()) {
      continue;
    }
    std::set<NodeId> tried;
    for (ValueId v : node.inputs) {
      NodeId producer = v.valid() ? g.value(graph::source_of(g, v)).producer : NodeId{};
      if (!producer.valid() || !tried.insert(producer).second) continue;
      NodeId first = head.at(producer);
      std::string why;
      if (members[first].back() != producer || !extensible(g, first) ||
          !only_user(g, graph::source_of(g, v), id) || !autogen::can_fuse(g, members[first], id, why)) {
        continue;
      }
      members.erase(id);
      members[first].push_back(id);
      head[id] = first;
      std::string group = g.node(first).name;
      g.node(first).assignment.group = group;
      node.assignment.group = group;
      node.assignment.reason += fmt::format("; fused into {}", group);
      break;
    }
  }
  return true;
}

}  // namespace cs::passes

// DOT writer: inputs and outputs as ellipses, nodes as boxes coloured by origin, kernels with several nodes
// as clusters.
#include "compiler/graph/dot.h"

#include <fmt/format.h>

namespace cs::graph {

namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

const char* fill(const Assignment& a) {
  if (!a.origin) return "white";
  switch (*a.origin) {
    case Origin::handwritten:
      return "lightblue";
    case Origin::autogen:
      return "palegreen";
    case Origin::host:
      return "lightgrey";
    case Origin::primitive:
      return "khaki";
  }
  return "white";
}

}  // namespace

std::string graph_dot(const Graph& g) {
  std::string out =
      fmt::format("digraph {} {{\n  node [shape=box, style=filled, fillcolor=white];\n", quoted(g.name));
  for (ValueId v : g.inputs) out += fmt::format("  {} [shape=ellipse];\n", quoted("in " + g.value(v).name));
  int cluster = 0;
  for (const Group& group : groups(g)) {
    bool box = group.nodes.size() > 1;
    if (box) out += fmt::format("  subgraph cluster_{} {{ label={};\n", cluster++, quoted(group.name));
    for (NodeId id : group.nodes) {
      const Node& n = g.node(id);
      out += fmt::format("  {} [label={}, fillcolor={}];\n", quoted(n.name), quoted(n.name + " : " + n.op),
                         fill(n.assignment));
    }
    if (box) out += "  }\n";
  }
  for (NodeId id : g.nodes()) {
    for (ValueId v : g.node(id).inputs) {
      if (!v.valid() || g.value(v).is_constant()) continue;
      const Value& value = g.value(v);
      std::string from = value.producer.valid() ? g.node(value.producer).name : "in " + value.name;
      std::string label = value.typed ? ops::type_text(value.type) : "";
      out += fmt::format("  {} -> {} [label={}];\n", quoted(from), quoted(g.node(id).name), quoted(label));
    }
  }
  for (ValueId v : g.outputs) {
    const Value& value = g.value(v);
    std::string from = value.producer.valid() ? g.node(value.producer).name : "in " + value.name;
    out += fmt::format("  {} [shape=ellipse];\n  {} -> {};\n", quoted("out " + value.name), quoted(from),
                       quoted("out " + value.name));
  }
  return out + "}\n";
}

}  // namespace cs::graph

// One instance from one group of nodes: what it is called; the rest its kind says.
#include "compiler/mapping/instances.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::Group;
using graph::NodeId;
using graph::ValueId;

std::string ops_of(const Graph& g, const Group& group) {
  std::string text;
  for (NodeId id : group.nodes) text += (text.empty() ? "" : "+") + g.node(id).op;
  return text;
}

void describe(const Graph& g, const Group& group, Instance& inst) {
  inst.nodes = group.nodes;
  for (NodeId id : group.nodes) inst.node_names.push_back(g.node(id).name);
  inst.op = ops_of(g, group);
  const graph::Value& result = g.value(g.node(group.nodes.back()).outputs[0]);
  inst.title = fmt::format("{}: {} to {}", group.name, inst.op, ops::type_text(result.type));
  bool generated = false;
  for (NodeId id : group.nodes) {
    const graph::Assignment& a = g.node(id).assignment;
    generated = generated || a.origin == Origin::autogen;
    if (inst.reason.empty() || a.origin == Origin::autogen) inst.reason = a.reason;
  }
  inst.origin = generated ? Origin::autogen : Origin::handwritten;
}

}  // namespace

std::string csl_name(const std::string& wanted, std::vector<std::string>& taken) {
  std::string name;
  for (char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "k_" + name;
  std::string unique = name;
  for (int i = 2; std::find(taken.begin(), taken.end(), unique) != taken.end(); ++i) {
    unique = fmt::format("{}_{}", name, i);
  }
  taken.push_back(unique);
  return unique;
}

HostTensor host_tensor(const Graph& g, ValueId id) {
  const graph::Value& v = g.value(id);
  HostTensor t;
  t.name = v.name;
  t.type = v.type.dtype;
  t.shape = v.type.shape;
  t.sample_dim = v.sample_dim;
  t.is_static = v.is_static && v.is_input;
  return t;
}

bool make_instance(const Graph& g, const Group& group, const kernels::Taking& by, Instance& inst,
                   Diag& diag) {
  describe(g, group, inst);
  return kernels::take_group(g, group, by, inst, diag);
}

}  // namespace cs::mapping

// One instance from one group of nodes: its numbers, its constants, its expression.
#include "compiler/mapping/instances.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/row_code.h"
#include "compiler/mapping/held_states.h"

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

bool fail(const Graph& g, NodeId id, const std::string& why, Diag& diag) {
  diag.error_at(g.node(id).where, fmt::format("{} cannot be placed on the wafer: {}", g.node(id).op, why));
  return false;
}

bool make_row_group(const Graph& g, const Group& group, const Machine& machine, Instance& inst, Diag& diag) {
  autogen::RowGroup rows;
  std::string why;
  if (!autogen::make_row_group(g, group.nodes, rows, why)) return fail(g, group.nodes.front(), why, diag);
  inst.kernel = autogen::kRowsKernel;
  inst.operands = {rows.operand};
  inst.results = {g.node(group.nodes.back()).outputs[0]};
  inst.work = rows.work(autogen::row_cost(rows, machine));
  for (ValueId v : rows.constants())
    inst.constants.push_back(
        {fmt::format("c{}", inst.constants.size()), kernels::ConstantView(g.shared_constant_of(v))});
  inst.rows = std::move(rows);
  describe(g, group, inst);
  return true;
}

// 64-bit integers are computed in 32 bits; what does not fit is refused here.
bool fits_words(const graph::Value& value, const ops::Tensor& t, Diag& diag) {
  if (data_type_is_float(t.type.dtype)) return true;
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t v = t.get_int(i);
    if (v == int64_t(int32_t(v))) continue;
    diag.error_at(value.name, fmt::format("element {} is {}, PEs compute integers in 32 bits", i, v));
    return false;
  }
  return true;
}

bool make_region(const Graph& g, const Group& group, const autogen::HeldStreams& streams,
                 const Machine& machine, Instance& inst, Diag& diag) {
  autogen::Region region;
  std::string why;
  if (!autogen::build_region(g, group.nodes, region, why)) return fail(g, group.nodes.front(), why, diag);
  std::map<ValueId, const graph::State*> states;
  for (const graph::State* s : held_states(g, group.nodes)) {
    const ValueId before = *g.find_value(s->input);
    if (!autogen::keep_state(region, before, *g.find_value(s->output)))
      return fail(g, group.nodes.front(), fmt::format("state '{}' cannot stay on its PEs", s->name), diag);
    states[before] = s;
  }
  region.may_wait = streams.may_wait(region);
  inst.work.kind = kernels::region_kind();
  inst.work.rows = autogen::slice_region(region);
  for (size_t k = 0; k < region.constants.size(); ++k) {
    const auto state = states.find(region.constants[k]);
    const auto t = state != states.end() ? state->second->initial : g.shared_constant_of(region.constants[k]);
    if (!fits_words(g.value(region.constants[k]), *t, diag)) return false;
    const int buffer = region.constant_buffer[k];
    const bool words = !data_type_is_float(t->type.dtype) || region.bytes.count(buffer) > 0;
    inst.constants.push_back({region.program.buffers[size_t(buffer)].name, kernels::ConstantView(t), words,
                              state != states.end() ? state->second->name : ""});
  }
  inst.region = std::move(region);
  inst.work.kind->fill(g, group, machine, inst);
  describe(g, group, inst);
  return true;
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
  return t;
}

bool make_instance(const Graph& g, const Group& group, const autogen::HeldStreams& streams,
                   const Machine& machine, Instance& inst, Diag& diag) {
  std::string why;
  NodeId front = group.nodes.front();
  if (g.node(front).assignment.kernel == autogen::kRegionKernel)
    return make_region(g, group, streams, machine, inst, diag);
  if (g.node(front).assignment.kernel == autogen::kRowsKernel)
    return make_row_group(g, group, machine, inst, diag);
  std::optional<kernels::Work> work = kernels::work_of(g, front, why);
  if (!work) return fail(g, front, why, diag);
  if (group.outputs.size() != 1 && group.nodes.size() > 1) {
    return fail(g, front, "its group has more than one result", diag);
  }
  inst.work = *work;
  inst.operands = {graph::source_of(g, g.node(front).inputs[0])};
  inst.results = {g.node(group.nodes.back()).outputs[0]};
  describe(g, group, inst);
  work->kind->fill(g, group, machine, inst);
  return true;
}

}  // namespace cs::mapping

// One instance from one group of nodes: its numbers, its constants, its expression.
#include "compiler/mapping/instances.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include <fmt/format.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/least_cycles.h"
#include "compiler/autogen/row_code.h"

namespace cs::mapping {

namespace {

using graph::Graph;
using graph::Group;
using graph::NodeId;
using graph::ValueId;

// weight of output i and input j of a gemm or matmul, with alpha and a possible transposition.
std::vector<float> pack_matrix(const Graph& g, const graph::Node& node, const kernels::Work& work) {
  const ops::Tensor& w = *g.constant_of(graph::source_of(g, node.inputs[1]));
  const ops::OpDef& op = *ops::find_op(node.op);
  bool gemm = node.op == "gemm";
  bool transposed = gemm && ops::attr_int(op, node.attrs, "trans_b") != 0;
  double alpha = gemm ? ops::attr_real(op, node.attrs, "alpha") : 1.0;
  std::vector<float> packed(size_t(work.m * work.n));
  for (int64_t i = 0; i < work.m; ++i) {
    for (int64_t j = 0; j < work.n; ++j) {
      double value = w.get(transposed ? i * work.n + j : j * work.m + i);
      packed[size_t(i * work.n + j)] = float(alpha) * float(value);
    }
  }
  return packed;
}

std::vector<float> pack_bias(const Graph& g, const graph::Node& node, int64_t m) {
  std::vector<float> bias(size_t(m), 0.0F);
  if (node.op != "gemm" || node.inputs.size() < 3 || !node.inputs[2].valid()) return bias;
  const ops::Tensor& c = *g.constant_of(graph::source_of(g, node.inputs[2]));
  double beta = ops::attr_real(*ops::find_op(node.op), node.attrs, "beta");
  for (int64_t i = 0; i < m; ++i) bias[size_t(i)] = float(beta) * float(c.get(c.elements() == 1 ? 0 : i));
  return bias;
}

// A constant leaf of an expression: one value per element of the result (per output for an epilogue).
std::vector<float> pack_leaf(const Graph& g, ValueId leaf, const ops::TensorType& result, int64_t m) {
  const ops::Tensor& c = *g.constant_of(leaf);
  std::vector<int64_t> strides = ops::broadcast_strides(c.type.shape, result.shape);
  std::vector<float> packed(static_cast<size_t>(m));
  for (int64_t e = 0; e < m; ++e) {
    int64_t rest = e, at = 0;
    for (size_t d = result.shape.size(); d-- > 0;) {
      at += (rest % result.shape[d]) * strides[d];
      rest /= result.shape[d];
    }
    packed[size_t(e)] = float(c.get(at));
  }
  return packed;
}

std::string ops_of(const Graph& g, const Group& group) {
  std::string text;
  for (NodeId id : group.nodes) text += (text.empty() ? "" : "+") + g.node(id).op;
  return text;
}

// The expression with streams first and constants after them; constants are packed.
void attach_expression(const Graph& g, const Group& group, std::span<const NodeId> nodes, bool epilogue,
                       Instance& inst, const Machine& machine) {
  ValueId result = g.node(group.nodes.back()).outputs[0];
  graph::ChainExpr chain = graph::chain_expression(g, nodes, result);
  const ops::TensorType& type = g.value(result).type;
  std::vector<ValueId> streams, constants;
  for (ValueId leaf : chain.leaves) (g.value(leaf).is_constant() ? constants : streams).push_back(leaf);
  std::vector<ops::Expr> order;
  for (ValueId leaf : chain.leaves) {
    const auto& list = g.value(leaf).is_constant() ? constants : streams;
    size_t at = size_t(std::find(list.begin(), list.end(), leaf) - list.begin());
    ops::Expr operand;
    operand.root = operand.input(int(at + (g.value(leaf).is_constant() ? streams.size() : 0)));
    order.push_back(operand);
  }
  inst.expr = ops::substitute(chain.expr, order);
  inst.expr_constants = int(constants.size());
  for (size_t j = 0; j < constants.size(); ++j) {
    inst.constants.push_back({fmt::format("c{}", j), pack_leaf(g, constants[j], type, inst.work.m)});
  }
  inst.work.constants = int(constants.size());
  if (!epilogue) {
    inst.operands = streams;
    inst.work.operands = int(streams.size());
  }
  inst.work.chain = autogen::chain_cost(*inst.expr, machine);
  inst.work.through = !epilogue && streams.size() == 1 && autogen::passes_through(*inst.expr, machine);
  inst.work.least_cycles = autogen::least_cycles(*inst.expr, machine);
  inst.work.flops_per_element = 0;
  for (NodeId id : nodes)
    inst.work.flops_per_element += double(g.flops(id)) / double(inst.work.rows * inst.work.m);
}

void describe(const Graph& g, const Group& group, Instance& inst) {
  inst.nodes = group.nodes;
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

void make_contraction(const Graph& g, const Group& group, const Machine& machine, Instance& inst) {
  const graph::Node& node = g.node(group.nodes.front());
  inst.constants.push_back({"w", pack_matrix(g, node, inst.work)});
  inst.constants.push_back({"b", pack_bias(g, node, inst.work.m)});
  bool library = node.assignment.origin == Origin::handwritten;
  if (library) inst.row = kernels::find_row(inst.work.rows > 1 ? "gemm" : "gemv");
  inst.kernel = library ? std::string(inst.row->name) : "dtg-contraction";
  if (group.nodes.size() > 1) {
    attach_expression(g, group, std::span(group.nodes).subspan(1), true, inst, machine);
    const graph::Node& next = g.node(group.nodes[1]);
    inst.library_epilogue = library && group.nodes.size() == 2 && next.op == "relu" &&
                            next.assignment.origin == Origin::handwritten;
    if (library) inst.kernel += inst.library_epilogue ? "+relu" : "+dtg-elementwise";
  }
}

// Whole rows: scale and bias are the same on every PE.
void make_rows(const Graph& g, const graph::Node& node, const Machine& machine, Instance& inst) {
  inst.row = kernels::find_row(node.op);
  inst.work.row_cost = kernels::library_row_cost(node.op, machine);
  inst.kernel = node.op;
  for (size_t k = 1; k < node.inputs.size(); ++k) {
    const ops::Tensor& c = *g.constant_of(graph::source_of(g, node.inputs[k]));
    inst.constants.push_back({k == 1 ? "scale" : "bias", c.to_floats()});
  }
  if (node.op != "softmax")
    inst.epsilon = float(ops::attr_real(*ops::find_op(node.op), node.attrs, "epsilon"));
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
    inst.constants.push_back({fmt::format("c{}", inst.constants.size()), g.constant_of(v)->to_floats()});
  inst.rows = std::move(rows);
  describe(g, group, inst);
  return true;
}

// 64-bit integers are computed in 32 bits; what does not fit is refused here.
bool pack_words(const graph::Value& value, const ops::Tensor& t, std::vector<uint32_t>& words, Diag& diag) {
  words.reserve(size_t(t.elements()));
  for (int64_t i = 0; i < t.elements(); ++i) {
    if (data_type_is_float(t.type.dtype)) {
      words.push_back(std::bit_cast<uint32_t>(float(t.get(i))));
      continue;
    }
    int64_t v = t.get_int(i);
    if (v != int64_t(int32_t(v))) {
      diag.error_at(value.name, fmt::format("element {} is {}, PEs compute integers in 32 bits", i, v));
      return false;
    }
    words.push_back(uint32_t(int32_t(v)));
  }
  return true;
}

bool make_region(const Graph& g, const Group& group, const autogen::HeldStreams& streams, Instance& inst,
                 Diag& diag) {
  autogen::Region region;
  std::string why;
  if (!autogen::build_region(g, group.nodes, region, why)) return fail(g, group.nodes.front(), why, diag);
  region.may_wait = streams.may_wait(region);
  inst.kernel = autogen::kRegionKernel;
  if (region.by_library) {
    inst.row = kernels::find_row("conv");
    inst.kernel = group.nodes.size() > 1 ? "conv+dtg-region" : "conv";
  }
  inst.operands = region.operands;
  inst.results = region.results;
  kernels::Work& work = inst.work;
  work.pattern = kernels::Pattern::region;
  work.rows = autogen::slice_region(region);
  work.operands = int(region.operands.size());
  work.n = (region.words_in() + work.operands - 1) / work.operands;
  work.m = region.words_out();
  double flops = 0;
  for (NodeId id : group.nodes) flops += double(g.flops(id));
  work.flops_per_element = flops / double(work.rows * work.m);
  for (size_t k = 0; k < region.constants.size(); ++k) {
    const ops::Tensor& t = *g.constant_of(region.constants[k]);
    PackedConstant c;
    c.name = region.program.buffers[size_t(region.constant_buffer[k])].name;
    c.integer = !data_type_is_float(t.type.dtype);
    std::vector<uint32_t> words;
    if (!pack_words(g.value(region.constants[k]), t, words, diag)) return false;
    c.words = std::move(words);
    inst.constants.push_back(std::move(c));
  }
  inst.region = std::move(region);
  describe(g, group, inst);
  return true;
}

}  // namespace

bool Instance::in_turns(const kernels::Cut& cut) const {
  if (work.pattern == kernels::Pattern::contraction) return cut.h > 1;
  if (region) return cut.w * cut.h > 1;
  bool row = work.pattern == kernels::Pattern::elementwise || work.pattern == kernels::Pattern::rows;
  return row && cut.w > 1;
}

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
    return make_region(g, group, streams, inst, diag);
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
  const graph::Node& node = g.node(front);
  switch (work->pattern) {
    case kernels::Pattern::contraction:
      make_contraction(g, group, machine, inst);
      return true;
    case kernels::Pattern::reduction:
      if (node.assignment.origin == Origin::handwritten) inst.row = kernels::find_row("row_reduce");
      inst.kernel = inst.row != nullptr ? inst.row->name : autogen::kReductionKernel;
      inst.maximum = node.op == "reduce_max";
      inst.work.maximum = inst.maximum;
      inst.scale = node.op == "reduce_mean" ? 1.0F / float(work->n) : 1.0F;
      return true;
    case kernels::Pattern::rows:
      make_rows(g, node, machine, inst);
      return true;
    default:
      break;
  }
  attach_expression(g, group, group.nodes, false, inst, machine);
  bool library = node.assignment.origin == Origin::handwritten && group.nodes.size() == 1;
  inst.row = library ? kernels::find_row("relu") : nullptr;
  inst.kernel = library ? "relu" : "dtg-elementwise";
  return true;
}

}  // namespace cs::mapping

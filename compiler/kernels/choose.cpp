// What kinds share when they fill a choice: the expression of a chain or an epilogue, with its constants.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/least_cycles.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

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

}  // namespace

ChainStreams add_chain_work(const Graph& g, std::span<const NodeId> nodes, const Machine& machine,
                            Work& work) {
  const graph::ChainExpr chain = graph::chain_expression(g, nodes, g.node(nodes.back()).outputs[0]);
  ChainStreams s;
  std::vector<int> phases;
  for (ValueId leaf : chain.leaves)
    phases.push_back(g.value(leaf).is_constant() ? autogen::kConstantPhase
                                                 : autogen::operand_phase(s.streams++));
  work.constants = int(chain.leaves.size()) - s.streams;
  work.chain = autogen::chain_cost(chain.expr, phases, machine);
  work.flops_per_element = 0;
  for (NodeId id : nodes) work.flops_per_element += double(g.flops(id)) / double(work.rows * work.m);
  s.through = s.streams == 1 && autogen::passes_through(chain.expr, machine);
  return s;
}

void attach_expression(const Graph& g, const graph::Group& group, std::span<const NodeId> nodes,
                       bool epilogue, const Machine& machine, Choice& choice) {
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
  choice.expr = ops::substitute(chain.expr, order);
  choice.expr_constants = int(constants.size());
  for (size_t j = 0; j < constants.size(); ++j) {
    choice.constants.push_back({fmt::format("c{}", j), pack_leaf(g, constants[j], type, choice.work.m)});
  }
  choice.work.constants = int(constants.size());
  if (!epilogue) {
    choice.operands = streams;
    choice.work.operands = int(streams.size());
  }
  std::vector<int> phases;
  for (size_t k = 0; k < streams.size(); ++k) phases.push_back(autogen::operand_phase(int(k)));
  phases.resize(streams.size() + constants.size(), autogen::kConstantPhase);
  choice.work.chain = autogen::chain_cost(*choice.expr, phases, machine);
  choice.work.through = !epilogue && streams.size() == 1 && autogen::passes_through(*choice.expr, machine);
  choice.work.least_cycles = autogen::least_cycles(*choice.expr, machine);
  choice.work.flops_per_element = 0;
  for (NodeId id : nodes)
    choice.work.flops_per_element += double(g.flops(id)) / double(choice.work.rows * choice.work.m);
}

}  // namespace cs::kernels

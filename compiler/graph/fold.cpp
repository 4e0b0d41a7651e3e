// Folding: evaluate() on constants. A result that is a graph output stays a node (an output needs a
// producer).
#include "compiler/graph/fold.h"

namespace cs::graph {

bool can_fold(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.alive || n.outputs.size() != 1) return false;
  for (ValueId v : n.inputs) {
    if (v.valid() && !g.value(v).is_constant()) return false;
  }
  const Value& result = g.value(n.outputs[0]);
  return !result.is_output && (!result.typed || result.type.bytes() <= kFoldBytes);
}

bool fold_node(Graph& g, NodeId id, Diag& diag) {
  std::vector<const ops::Tensor*> operands;
  for (ValueId v : g.node(id).inputs) operands.push_back(g.constant_of(v));
  std::vector<ops::Tensor> results;
  if (!ops::evaluate(g.op(id), g.node(id).attrs, operands, results, diag)) return false;
  ValueId old = g.node(id).outputs[0];
  std::string name = g.value(old).name;
  g.rename(old, g.fresh_name(name + "_folded"));
  ValueId constant = g.add_constant(name, std::move(results[0]));
  g.replace_uses(old, constant);
  g.erase(id);
  return true;
}

const ops::Tensor* fold_value(Graph& g, ValueId value, Diag& diag) {
  if (const ops::Tensor* t = g.constant_of(value)) return t;
  NodeId producer = g.value(value).producer;
  if (!producer.valid()) return nullptr;
  for (ValueId v : g.node(producer).inputs) {
    if (v.valid() && fold_value(g, v, diag) == nullptr) return nullptr;
  }
  if (!can_fold(g, producer)) return nullptr;
  std::string name = g.value(value).name;
  if (!fold_node(g, producer, diag)) return nullptr;
  return g.constant_of(*g.find_value(name));
}

}  // namespace cs::graph

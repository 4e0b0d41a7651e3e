// Folding: evaluate() on constants. A result that is a graph output stays a node (an output needs a
// producer).
#include "compiler/graph/fold.h"

#include <algorithm>

namespace cs::graph {

bool can_fold(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.alive || n.outputs.empty()) return false;
  bool types_only = g.op(id).types_only;
  int64_t most = kFoldBytes, given = 0;
  for (ValueId v : n.inputs) {
    if (v.valid() && !(types_only ? g.value(v).typed : g.value(v).is_constant())) return false;
    if (v.valid() && g.value(v).is_constant()) given += g.value(v).type.bytes();
  }
  most = std::max(most, given);
  for (ValueId v : n.outputs) {
    const Value& result = g.value(v);
    if (result.is_output || (result.typed && result.type.bytes() > most)) return false;
  }
  return true;
}

namespace {

// Dequantised weights, and what is computed from them. That they are steps of a scale is for kernels to see.
bool from_bytes(const Graph& g, const Node& n) {
  return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
    if (!v.valid()) return false;
    const DataType type = g.value(v).type.dtype;
    return g.value(v).quantised || type == DataType::i8 || type == DataType::u8;
  });
}

}  // namespace

bool fold_node(Graph& g, NodeId id, Diag& diag) {
  std::vector<ops::Tensor> results;
  const ops::OpDef& op = g.op(id);
  const Attrs& attrs = g.node(id).attrs;
  bool ok = op.types_only ? ops::evaluate_types(op, attrs, g.input_types(id), results, diag)
                          : ops::evaluate(op, attrs, g.input_values(id), results, diag);
  if (!ok) return false;
  const std::vector<ValueId> outputs = g.node(id).outputs;
  const bool bytes = from_bytes(g, g.node(id));
  for (size_t k = 0; k < outputs.size(); ++k) {
    std::string name = g.value(outputs[k]).name;
    g.rename(outputs[k], g.fresh_name(name + "_folded"));
    ValueId folded = g.add_constant(name, std::move(results[k]));
    g.value(folded).quantised = bytes && data_type_is_float(g.value(folded).type.dtype);
    g.value(folded).sample_dim = g.value(outputs[k]).sample_dim;
    g.value(folded).sample_stride = g.value(outputs[k]).sample_stride;
    g.replace_uses(outputs[k], folded);
  }
  g.erase(id);
  return true;
}

const ops::Tensor* fold_value(Graph& g, ValueId value, Diag& diag) {
  if (const ops::Tensor* t = g.constant_of(value)) return t;
  NodeId producer = g.value(value).producer;
  if (!producer.valid()) return nullptr;
  // Folding an operand puts a new value into its place, so the list is read anew every time.
  for (size_t k = 0; !g.op(producer).types_only && k < g.node(producer).inputs.size(); ++k) {
    ValueId v = g.node(producer).inputs[k];
    if (v.valid() && fold_value(g, v, diag) == nullptr) return nullptr;
  }
  if (!can_fold(g, producer)) return nullptr;
  std::string name = g.value(value).name;
  if (!fold_node(g, producer, diag)) return nullptr;
  return g.constant_of(*g.find_value(name));
}

}  // namespace cs::graph

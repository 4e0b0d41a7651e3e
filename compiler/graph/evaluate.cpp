// Node by node, in the order of the dataflow.
#include "compiler/graph/evaluate.h"

#include <fmt/format.h>

namespace cs::graph {

std::optional<std::map<std::string, ops::Tensor>> evaluate_graph(const Graph& g,
                                                                 const std::map<std::string, ops::Tensor>& inputs,
                                                                 Diag& diag) {
  std::map<ValueId, ops::Tensor> values;
  for (const ValueId v : g.inputs) {
    const auto given = inputs.find(g.value(v).name);
    if (given == inputs.end() || given->second.type != g.value(v).type) {
      diag.error_at(g.name, fmt::format("there are no {} of the input '{}'", ops::type_text(g.value(v).type),
                                        g.value(v).name));
      return std::nullopt;
    }
    values[v] = given->second;
  }
  for (const NodeId id : g.topological()) {
    const Node& n = g.node(id);
    std::vector<const ops::Tensor*> operands;
    for (const ValueId v : n.inputs)
      operands.push_back(!v.valid() ? nullptr : g.constant_of(v) != nullptr ? g.constant_of(v) : &values.at(v));
    std::vector<ops::Tensor> results;
    const ops::OpDef& op = g.op(id);
    const bool ok = op.types_only ? ops::evaluate_types(op, n.attrs, g.input_types(id), results, diag)
                                  : ops::evaluate(op, n.attrs, operands, results, diag);
    if (!ok || results.size() < n.outputs.size()) return std::nullopt;
    for (size_t k = 0; k < n.outputs.size(); ++k) values[n.outputs[k]] = std::move(results[k]);
  }
  std::map<std::string, ops::Tensor> outputs;
  for (const ValueId v : g.outputs)
    outputs[g.value(v).name] = g.constant_of(v) != nullptr ? *g.constant_of(v) : values.at(v);
  return outputs;
}

}  // namespace cs::graph

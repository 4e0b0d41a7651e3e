// The masks share one input, the number of the batch.
#include "compiler/frontend/dropout.h"

#include <algorithm>

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

ValueId add(Graph& g, const std::string& name, const std::string& op, std::vector<ValueId> inputs,
            Attrs attrs, const std::string& where, Diag& diag) {
  graph::Node n;
  n.name = g.fresh_name(name);
  n.op = op;
  n.where = where;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  const std::string result = g.fresh_name(n.name + "_y");
  const NodeId id = g.add_node(std::move(n));
  const ValueId v = g.add_result(id, result);
  return graph::infer_node(g, id, diag) ? v : ValueId{};
}

}  // namespace

bool has_dropout(const Graph& g) {
  const std::vector<NodeId> nodes = g.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return g.node(id).op == "dropout"; });
}

bool expand_dropout(Graph& g, int64_t seed, ValueId trains, Diag& diag) {
  if (!has_dropout(g)) return true;
  const ValueId step = g.add_input(g.fresh_name("batch_number"), {DataType::f32, {}});
  g.scalars.push_back({g.value(step).name, std::nullopt, 1, false});
  for (const NodeId id : g.nodes()) {
    if (g.node(id).op != "dropout") continue;
    const std::string name = g.node(id).name, where = g.node(id).where;
    const ValueId x = g.node(id).inputs[0], y = g.node(id).outputs[0];
    const ops::TensorType type = g.value(x).type;
    std::vector<ValueId> operands{step};
    if (trains.valid()) operands.push_back(trains);
    ValueId mask = add(g, name + "_mask", "dropout_mask", operands,
                       {{"shape", type.shape},
                        {"ratio", ops::attr_real(g.op(id), g.node(id).attrs, "ratio")},
                        {"seed", seed++}},
                       where, diag);
    if (mask.valid() && type.dtype != DataType::f32)
      mask = add(g, name + "_mask", "cast", {mask}, {{"to", std::string(data_type_name(type.dtype))}}, where,
                 diag);
    const ValueId kept = mask.valid() ? add(g, name + "_kept", "mul", {x, mask}, {}, where, diag) : ValueId{};
    if (!kept.valid()) return false;
    g.replace_uses(y, kept);
  }
  g.remove_dead();
  return true;
}

}  // namespace cs::frontend

// A Loss becomes a node of the row `custom_loss`, as one of a configuration does.
#include "tools/api/losses.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/custom_loss.h"

namespace cs {

Loss autogen_loss(Loss loss) {
  loss.autogen = true;
  return loss;
}

graph::ValueId add_loss(graph::Graph& g, const Loss& loss, std::vector<graph::ValueId> operands,
                        const LossOptions& options, Diag& diag) {
  frontend::CustomLoss custom{loss.name, {loss.expr, loss.inputs, {}}, {}, loss.autogen};
  for (const auto& [name, value] : loss.args) {
    const auto given = options.args.find(name);
    custom.formula.args.push_back(name);
    custom.values.push_back(given == options.args.end() ? value : given->second);
  }
  const std::vector<std::string>& args = custom.formula.args;
  for (const auto& [name, value] : options.args) {
    if (std::find(args.begin(), args.end(), name) != args.end()) continue;
    const std::string near = nearest(name, args);
    diag.error_at(loss.name, fmt::format("it has no argument '{}'", name),
                  near.empty() ? "" : "did you mean '" + near + "'?");
    return {};
  }
  std::string error;
  std::vector<ops::TensorType> types;
  const std::string where = "loss " + loss.name;
  if (!ops::check_custom_formula(custom.formula, custom.facts, error)) {
    diag.error_at(where, error);
    return {};
  }
  const bool fuse = frontend::asks_for_one_kernel(custom, options.use_autogen, {}, diag);
  graph::Node node;
  node.name = g.fresh_name(loss.name);
  node.op = ops::kCustomLoss;
  node.attrs = ops::custom_loss_attrs(custom.formula, custom.values, options.reduction, fuse);
  node.inputs = std::move(operands);
  node.where = where;
  const std::string name = node.name;
  std::vector<const ops::TensorType*> inputs;
  for (graph::ValueId v : node.inputs) inputs.push_back(&g.value(v).type);
  if (!ops::infer_types(*ops::find_op(node.op), node.attrs, inputs, types, error)) {
    diag.error_at(where, error);
    return {};
  }
  const graph::NodeId id = g.add_node(std::move(node));
  const graph::ValueId result = g.add_result(id, name);
  g.value(result).type = types[0];
  g.value(result).typed = true;
  return result;
}

}  // namespace cs

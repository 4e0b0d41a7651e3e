// New nodes in the place of one, under its name and at its line.
#include "compiler/passes/rewriter.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::passes {

using graph::ValueId;

std::vector<ValueId> Rewriter::results(const char* row, std::vector<ValueId> inputs, Attrs attrs,
                                       size_t count) {
  graph::Node n;
  n.name = g_.fresh_name(fmt::format("{}_{}", node_.name, row));
  n.op = row;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  std::sort(n.attrs.begin(), n.attrs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  n.loc = node_.loc;
  n.where = node_.where;
  n.from = node_.from.empty() ? node_.name : node_.from;
  n.from_op = node_.from.empty() ? node_.op : node_.from_op;
  const std::string name = n.name;
  const graph::NodeId made = g_.add_node(std::move(n));
  std::vector<ValueId> list;
  for (size_t k = 0; k < count; ++k) list.push_back(g_.add_result(made, g_.fresh_name(name + "_out")));
  good_ = good_ && graph::infer_node(g_, made, diag_);
  return list;
}

ValueId Rewriter::op(const char* row, std::vector<ValueId> inputs, Attrs attrs) {
  return results(row, std::move(inputs), std::move(attrs), 1)[0];
}

ValueId Rewriter::reshape(ValueId v, ops::Shape shape) {
  return type(v).shape == shape ? v : op("reshape", {v}, {{"shape", std::move(shape)}});
}

ValueId Rewriter::number(DataType type, double value) {
  ops::Tensor t(ops::TensorType{type, {}});
  t.set(0, value);
  return constant("number", std::move(t));
}

ValueId Rewriter::constant(const std::string& name, ops::Tensor t) {
  return g_.add_constant(g_.fresh_name(fmt::format("{}_{}", node_.name, name)), std::move(t));
}

bool Rewriter::replace(const std::vector<ValueId>& made) {
  if (!good_) return false;
  for (size_t k = 0; k < made.size(); ++k) {
    const ValueId old = node_.outputs[k];
    g_.replace_uses(old, g_.value(old).is_output ? op("identity", {made[k]}) : made[k]);
  }
  g_.erase(id_);
  return good_;
}

}  // namespace cs::passes

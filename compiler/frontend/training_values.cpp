// Nodes of one operand.
#include "compiler/frontend/training_values.h"

#include <fmt/format.h>

namespace cs::frontend {

using graph::Graph;
using graph::ValueId;

DataType wide(DataType t) { return t == DataType::f64 ? t : DataType::f32; }

ops::Tensor in_type(const ops::Tensor& from, DataType to) {
  if (from.type.dtype == to) return from;
  ops::Tensor out({to, from.type.shape});
  for (int64_t i = 0; i < out.elements(); ++i) out.set(i, from.get(i));
  return out;
}

ops::Tensor number(double v) {
  ops::Tensor t({DataType::f32, {}});
  t.set(0, v);
  return t;
}

ValueId cast_value(Graph& g, ValueId v, DataType to, const std::string& of, Diag& diag) {
  if (g.value(v).type.dtype == to) return v;
  graph::Node n;
  n.name = g.fresh_name(fmt::format("{}.{}", of, data_type_name(to)));
  n.op = "cast";
  n.where = fmt::format("training of '{}'", of);
  n.inputs = {v};
  ops::set_attr(n.attrs, "to", std::string(data_type_name(to)));
  const graph::NodeId id = g.add_node(std::move(n));
  const ValueId out = g.add_result(id, g.fresh_name(g.node(id).name + "_y"));
  return graph::infer_node(g, id, diag) ? out : ValueId{};
}

ValueId reshape_value(Graph& g, ValueId v, const ops::Shape& shape, Diag& diag) {
  graph::Node n;
  n.name = g.fresh_name(g.value(v).name + "_shaped");
  n.op = "reshape";
  n.where = "the gradient of the loss";
  n.inputs = {v};
  ops::set_attr(n.attrs, "shape", std::vector<int64_t>(shape.begin(), shape.end()));
  const graph::NodeId id = g.add_node(std::move(n));
  const ValueId out = g.add_result(id, g.fresh_name(g.node(id).name + "_y"));
  return graph::infer_node(g, id, diag) ? out : ValueId{};
}

}  // namespace cs::frontend

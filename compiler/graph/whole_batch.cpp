// A node over the batch keeps what it was in its attributes: the operator, its attributes as text, the types.
#include "compiler/graph/whole_batch.h"

#include <algorithm>

#include "compiler/graph/yaml_values.h"
#include "runtime/ops/whole_batch.h"

namespace cs::graph {

bool is_whole_batch(const Node& n) { return n.op == ops::kWholeBatch; }

void make_whole_batch(Graph& g, NodeId id, const std::vector<int64_t>& sample_dims) {
  Node& n = g.node(id);
  std::string types;
  for (ValueId v : n.outputs) types += (types.empty() ? "" : "; ") + ops::type_text(g.value(v).type);
  Attrs attrs;
  ops::set_attr(attrs, "op", n.op);
  ops::set_attr(attrs, "attrs", attrs_text(n.attrs));
  ops::set_attr(attrs, "types", types);
  ops::set_attr(attrs, "sample_dims", sample_dims);
  n.op = ops::kWholeBatch;
  n.attrs = std::move(attrs);
  settle_whole_batch(g, id);
}

void settle_whole_batch(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const std::vector<int64_t> dims = ops::attr_ints(g.op(id), n.attrs, "sample_dims");
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    Value& v = g.value(n.outputs[k]);
    const int64_t dim = k < dims.size() ? dims[k] : ops::kAlike;
    const bool parts = dim >= 0 && dim < v.type.rank();
    v.sample_dim = parts ? int(dim) : -1;
    v.sample_stride = 0;
    if (!parts || v.type.shape[size_t(dim)] == 1) continue;
    v.sample_stride = 1;  // samples begin the dimension
    for (size_t d = size_t(dim); d < v.type.shape.size(); ++d) v.sample_stride *= v.type.shape[d];
  }
}

std::optional<BatchOperator> batch_operator(const Node& n) {
  const ops::OpDef& row = *ops::find_op(ops::kWholeBatch);
  const std::string op = ops::attr_text(row, n.attrs, "op");
  const ops::OpDef* inner = ops::find_op(op);
  if (inner == nullptr || inner == &row) return std::nullopt;
  std::optional<Attrs> attrs = parse_attrs(ops::attr_text(row, n.attrs, "attrs"), *inner);
  if (!attrs) return std::nullopt;
  return BatchOperator{op, std::move(*attrs)};
}

BatchPhases::BatchPhases(const Graph& g) : g_(g), before_(g.node_slots(), 0) {
  for (NodeId id : g.topological()) {
    int& before = before_[size_t(id.index)];
    for (ValueId v : g.node(id).inputs)
      if (v.valid()) before = std::max(before, of_value(v));
  }
}

int BatchPhases::of_value(ValueId v) const {
  const NodeId id = g_.value(v).producer;
  return id.valid() ? of_node(id) + int(is_whole_batch(g_.node(id))) : 0;
}

std::string operator_name(const Node& n) {
  return is_whole_batch(n) ? ops::attr_text(*ops::find_op(ops::kWholeBatch), n.attrs, "op") : n.op;
}

}  // namespace cs::graph

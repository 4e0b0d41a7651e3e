// Inputs grow, then every result in the order of the dataflow by its row's shape rule.
#include "compiler/graph/batch.h"

#include <fmt/format.h>

namespace cs::graph {

namespace {

// Views say the shape of their result.
void grow_shape_attr(Node& n, const Value& result, int64_t samples) {
  for (auto& [name, value] : n.attrs) {
    auto* shape = std::get_if<std::vector<int64_t>>(&value);
    if (name != "shape" || shape == nullptr || result.sample_dim < 0) continue;
    if (size_t(result.sample_dim) < shape->size() && (*shape)[size_t(result.sample_dim)] > 0)
      (*shape)[size_t(result.sample_dim)] *= samples;
  }
}

}  // namespace

bool make_batch(Graph& g, int64_t samples, Diag& diag) {
  const auto grow = [&](Value& v) {
    v.type.shape[size_t(v.sample_dim)] *= samples;
    v.sample_dim = -1;
    v.sample_stride = 0;
  };
  for (ValueId v : g.inputs)
    if (g.value(v).sample_dim >= 0) grow(g.value(v));
  for (NodeId id : g.topological()) {
    Node& n = g.node(id);
    std::vector<ops::TensorType> expected;
    for (ValueId v : n.outputs) {
      Value& result = g.value(v);
      grow_shape_attr(n, result, samples);
      if (result.sample_dim >= 0) grow(result);
      expected.push_back(result.type);
    }
    if (!infer_node(g, id, diag)) return false;
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const ops::TensorType& type = g.value(n.outputs[k]).type;
      if (type == expected[k]) continue;
      node_error(
          g, id, diag,
          fmt::format("for a batch of {} '{}' should be {}, but {} gives {}", samples,
                      g.value(n.outputs[k]).name, ops::type_text(expected[k]), n.op, ops::type_text(type)),
          "build the model with the batch in its shapes");
      return false;
    }
  }
  return true;
}

}  // namespace cs::graph

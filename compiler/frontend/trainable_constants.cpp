// A walk from the loss to what it is made of.
#include <algorithm>
#include <set>

#include "compiler/frontend/training_step.h"

namespace cs::frontend {

std::vector<graph::ValueId> trainable_constants(const graph::Graph& g, graph::ValueId loss) {
  std::set<graph::ValueId> needed{loss};
  std::vector<graph::ValueId> out;
  const std::vector<graph::NodeId> order = g.topological();
  for (size_t i = order.size(); i-- > 0;) {
    const graph::Node& n = g.node(order[i]);
    if (std::none_of(n.outputs.begin(), n.outputs.end(),
                     [&](graph::ValueId v) { return needed.contains(v); }))
      continue;
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const bool statistics = n.op == "batch_norm" && k >= 3;
      if (n.inputs[k].valid() && !statistics) needed.insert(n.inputs[k]);
    }
  }
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const graph::ValueId v{int32_t(i)};
    const ops::Tensor* t = g.constant_of(v);
    if (t != nullptr && needed.contains(v) && data_type_is_float(t->type.dtype) && t->elements() > 1)
      out.push_back(v);
  }
  return out;
}

}  // namespace cs::frontend

// Nodes that are computed over all samples of a batch at once (runtime/ops/whole_batch.h).
#pragma once

#include "compiler/graph/graph.h"

namespace cs::graph {

bool is_whole_batch(const Node&);
// The node's operator becomes one over the batch. `sample_dims`: of its results, in order.
void make_whole_batch(Graph&, NodeId, const std::vector<int64_t>& sample_dims);
// The sample dimensions of the results follow what the node says.
void settle_whole_batch(Graph&, NodeId);
// The operator that is computed; nothing if the node does not say it properly.
struct BatchOperator {
  std::string op;
  Attrs attrs;
};
std::optional<BatchOperator> batch_operator(const Node&);
// How many operators over the whole batch lie before a node or a value, one after another.
class BatchPhases {
 public:
  explicit BatchPhases(const Graph&);
  int of_node(NodeId id) const { return before_[size_t(id.index)]; }
  int of_value(ValueId) const;

 private:
  const Graph& g_;
  std::vector<int> before_;
};

// The operator as a user knows it, of any node.
std::string operator_name(const Node&);

}  // namespace cs::graph

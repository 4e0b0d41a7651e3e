// Puts several nodes in the place of one: the tool of passes that take operators apart.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"

namespace cs::passes {

class Rewriter {
 public:
  Rewriter(graph::Graph& g, graph::NodeId id, Diag& diag) : g_(g), id_(id), node_(g.node(id)), diag_(diag) {}

  // The node as it was.
  const graph::Node& node() const { return node_; }
  const ops::TensorType& type(graph::ValueId v) const { return g_.value(v).type; }
  // All results of a new node, or its first one.
  std::vector<graph::ValueId> results(const char* row, std::vector<graph::ValueId> inputs, Attrs attrs,
                                      size_t count);
  graph::ValueId op(const char* row, std::vector<graph::ValueId> inputs, Attrs attrs = {});
  graph::ValueId reshape(graph::ValueId, ops::Shape);
  graph::ValueId number(DataType, double);  // without dimensions
  graph::ValueId constant(const std::string& name, ops::Tensor);
  // The results of the node are these from now on, and the node is gone. False if a new node was refused.
  bool replace(const std::vector<graph::ValueId>& made);

 private:
  graph::Graph& g_;
  const graph::NodeId id_;
  const graph::Node node_;  // by value: adding nodes moves the graph's
  Diag& diag_;
  bool good_ = true;
};

}  // namespace cs::passes

// What of a graph crosses the edge in pieces (compiler/graph/pieces.h), as streams and tensors of the host
// part see it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "compiler/graph/pieces.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"

namespace cs::mapping {

class CrossingPieces {
 public:
  // Reports nodes that cannot be done without a kernel although the graph says so.
  CrossingPieces(const graph::Graph&, Diag&);

  // Pieces of an input, or of an output behind its views; null: it crosses as it is.
  const graph::InPieces* of_input(graph::ValueId) const;
  const graph::InPieces* of_output(graph::ValueId) const;
  // The piece of an input with the same elements; other values are themselves.
  graph::ValueId sent_as(graph::ValueId) const;
  // Whether some output is put together of this value and others.
  bool is_part(graph::ValueId v) const { return parts_.count(v) > 0; }
  // What its stream is called at the edge: "y[0:400 of 1800]" of a piece, else the value's own name.
  std::string crosses_as(graph::ValueId) const;
  // Says so in the tensor.
  void describe(const graph::InPieces&, HostTensor&) const;

 private:
  void name(const graph::InPieces&, const std::string& tensor);

  const graph::Graph& g_;
  std::map<graph::ValueId, graph::InPieces> inputs_, outputs_;  // outputs by what the node makes
  std::map<graph::ValueId, graph::ValueId> same_;
  std::set<graph::ValueId> parts_;
  std::map<graph::ValueId, std::string> names_;
};

}  // namespace cs::mapping

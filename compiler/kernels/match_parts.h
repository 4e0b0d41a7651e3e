// Pieces of matching that kinds of kernels share.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::kernels {

inline const graph::Value& operand(const graph::Graph& g, const graph::Node& node, size_t i) {
  return g.value(node.inputs[i]);
}
// PEs compute in f32; streams may be 16-bit floats.
bool is_computed(const graph::Graph&, const graph::Value&);

}  // namespace cs::kernels

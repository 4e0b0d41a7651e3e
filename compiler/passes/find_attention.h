// Primitives of attention become one operator, so that no score leaves a kernel: softmax(scale Q Kᵀ + mask)
// V, as kernels/attention_graph.h reads it. Part of the pass decompose, where --rewrite attention=on asks for
// it; an attention without a kernel is decomposed again.
#pragma once

#include "compiler/graph/graph.h"

namespace cs::passes {

struct PassContext;

bool find_attention(graph::Graph&, PassContext&);

}  // namespace cs::passes

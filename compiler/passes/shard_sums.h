// Nodes that take their operand along the dimension that is cut: what the parts give is joined, so that the
// operand need not be put together. Internal to shards.
#pragma once

#include <optional>

#include "compiler/passes/shard_design.h"

namespace cs::passes {

// A reduction along this dimension of operand 0; not the mean of whole numbers.
std::optional<Cut> reduction_of_parts(const graph::Graph&, graph::NodeId, int dim, int64_t shards);

// A product with rows of a constant matrix: what both are cut along is gone from the result, so it is added
// up. A third operand is added to the whole.
std::optional<Cut> product_of_parts(const graph::Graph&, graph::NodeId, int dim, int64_t shards);

}  // namespace cs::passes

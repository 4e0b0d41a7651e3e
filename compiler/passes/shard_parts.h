// What parts of operands give, one operator at a time. Internal to shards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::passes {

bool can_cut(int64_t extent, int64_t shards);

// The dimension of the same elements behind a view; -1: they are not consecutive there.
int behind_view(const ops::Shape& from, int dim, const ops::Shape& to, int64_t shards);

// Along which dimensions the results are in parts where operands are cut along these; -1: they are whole.
// Nothing if the operator does not go by parts.
std::optional<std::vector<int>> results_of_parts(const graph::Graph&, graph::NodeId,
                                                 const std::vector<int>& dims, int64_t shards);

// Elements of what has to be put together before its users where a value comes in parts along a dimension:
// the value, if one of them cannot take parts, or what elementwise operators and views make of it.
double words_put_together(const graph::Graph&, graph::ValueId, int dim, int64_t shards);

}  // namespace cs::passes

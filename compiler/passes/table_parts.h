// Gathers from a table that is there in parts of rows.
#pragma once

#include <span>

#include "compiler/passes/rewriter.h"

namespace cs::passes {

struct TablePart {
  graph::ValueId rows;
  int64_t count = 0;  // of them
};

// What the rewriter's node, a gather or a gather_nd of one index, gives from a table whose parts lie behind
// each other along dimension `axis`: every part is gathered for itself, with the indices that lie outside
// moved to its edge, and its rows are selected where they lie inside.
//
//   y = gather(table, i)   →   y0 = gather(part 0, i0);  yk = where(first of k ≤ i, gather(part k, ik),
//   y(k-1))
//
// Indices from -rows to -1 count from the end, as gather has them.
graph::ValueId gather_from_parts(Rewriter&, std::span<const TablePart>, int axis);

}  // namespace cs::passes

// Nodes that rewrites put beside others: one result, whose type follows from the operands.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::graph {

// The result, called as the node with _y; not valid if the types do not fit, which is in diag then.
ValueId add_typed(Graph&, Node, Diag&);
// Elements begin to end - 1 of a dimension of v.
ValueId add_share(Graph&, ValueId v, int dim, int64_t begin, int64_t end, const std::string& name,
                  const std::string& where, Diag&);
// Values one after another along a dimension.
ValueId add_concat(Graph&, std::vector<ValueId>, int dim, const std::string& name, const std::string& where, Diag&);
// `to` is called as v was, which gets a name with this behind it.
void pass_name_on(Graph&, ValueId v, ValueId to, const std::string& behind);

}  // namespace cs::graph

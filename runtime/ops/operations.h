// What an expression's node costs in operations: additions, multiplications, comparisons and bit operations
// on one element. The bound of a kernel counts these (docs/decisions/0008-operations-of-functions.md).
#pragma once

#include "runtime/ops/expr.h"

namespace cs::ops {

int operations_of(ExprKind);
// Of all nodes; a common subexpression is computed once.
double operations_of(const Expr&);

}  // namespace cs::ops

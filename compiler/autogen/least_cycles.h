// What an elementwise chain or a group of rows takes at least: the compute term of its bound
// (docs/decisions/0009-rates-of-operations.md).
#pragma once

#include "compiler/autogen/row_group.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

// Cycles of one PE per element of out = expr(inputs), each operation by the fastest instruction that does it,
// words moved for nothing else. A factor that is a number joins an addition as a multiply-add. Functions run
// at the machine's peak.
double least_cycles(const ops::Expr&, const Machine&);
// The same per element of a row, with its reductions; what is one number for a row costs nothing.
double least_cycles(const RowGroup&, const Machine&);

}  // namespace cs::autogen

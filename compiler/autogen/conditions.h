// Comparisons and choices as vector instructions: a comparison is a mask, all of whose bits are ones or zeros
// in every element, made from the sign of a difference; a choice takes the bits of one value or the other.
#pragma once

#include <span>
#include <vector>

#include "compiler/autogen/vector_program.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

bool is_condition(ops::ExprKind);  // a comparison or a negation: 1 or 0
// By node: what is computed from it changes in steps (rounding, comparisons), so its last digit counts.
std::vector<bool> into_steps(const ops::Expr&);
// Comparisons of values that may both be infinite have none, but for < and >.
bool has_vector_comparison(const ops::Expr&, int node);

// The node's instructions; `at`: the program's nodes of the expression's nodes before it.
int build_comparison(VectorProgram&, const ops::Expr&, int node, std::span<const int> at);
int build_choice(VectorProgram&, const ops::Expr&, int node, std::span<const int> at);

}  // namespace cs::autogen

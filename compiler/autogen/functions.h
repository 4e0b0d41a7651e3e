// Functions as vector instructions: a table of forms, some of which hold within a range of the argument only.
// No machine of this kind has an instruction for any of them.
#pragma once

#include <span>
#include <vector>

#include "compiler/autogen/ranges.h"
#include "compiler/autogen/vector_program.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

// Vector instructions can compute the node from its operands.
bool has_vector_form(const ops::Expr&, int node, const std::vector<Range>&);
// It is a function, or a quotient: many instructions.
bool is_function(ops::ExprKind);

// Adds the node's instructions; `at`: the program's nodes of the expression's nodes before it.
int build_vector_form(VectorProgram&, const ops::Expr&, int node, const std::vector<Range>&,
                      std::span<const int> at);

}  // namespace cs::autogen

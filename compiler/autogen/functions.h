// Functions as vector instructions: the range that an expression's nodes can have, and a table of forms that
// hold within a range of the argument. No machine of this kind has an instruction for any of them.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "compiler/autogen/vector_program.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool attained = false;  // some element of the slice is `high`
};
// Of every node; operands can be anything. `largest_of`: operands that are the largest element of a node's
// slice, -1 for others.
std::vector<Range> ranges_of(const ops::Expr&, std::span<const int> largest_of = {});

// Vector instructions can compute the node from its operands.
bool has_vector_form(const ops::Expr&, int node, const std::vector<Range>&);
// It is a function, or a quotient: many instructions.
bool is_function(ops::ExprKind);

// Adds the node's instructions; `at`: the program's nodes of the expression's nodes before it.
int build_vector_form(VectorProgram&, const ops::Expr&, int node, const std::vector<Range>&,
                      std::span<const int> at);

}  // namespace cs::autogen

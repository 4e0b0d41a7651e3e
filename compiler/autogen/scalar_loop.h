// The loop of scalars of a generated expression: one statement per node, <math> for the functions.
#pragma once

#include <string>
#include <vector>

#include "compiler/autogen/expression.h"

namespace cs::autogen {

struct LoopSpec {
  const ops::Expr& expr;
  const std::vector<bool>& in_loop;  // by node: computed in the loop
  const std::vector<std::string>&
      arrays;       // by node not in the loop: the array that holds it (constants: empty)
  std::string out;  // array of the result
  int n = 1;
};

// Appends the loop to code.lines, and what it needs and costs to the rest of `code`.
void append_loop(const LoopSpec&, const Machine&, ExpressionCode& code);

}  // namespace cs::autogen

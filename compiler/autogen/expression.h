// From an expression tree to CSL: vector instructions as far as the tree allows, then at most one loop of
// scalars.
//
//   1. rewrite   selects that are a maximum or minimum, divisions by numbers, bounds that keep quotients
//   finite
//   2. split     a node that has no vector form (functions.h), and all that depends on it, go into one loop
//   over
//                the elements that calls <math>; so do functions of a slice so short that the loop is faster
//   3. numbers   what is the same for all elements is computed once, by scalars
//   4. code      everything else becomes a vector program (vector_program.h) and its instructions
//   (vector_code.h)
#pragma once

#include <string>
#include <vector>

#include "compiler/autogen/scalar_code.h"
#include "compiler/autogen/vector_code.h"
#include "compiler/kernels/kernels.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

struct ExpressionCode {
  std::vector<std::string> lines;         // statements, without indentation of their own level
  std::vector<std::string> declarations;  // of temporaries, at module level
  int64_t words = 0;                      // of temporaries
  bool uses_math = false, uses_round = false, uses_power = false;  // see scalar_helpers()
  bool in_parts = false;                                           // a part of the slice after the other
  bool in_loop = false;                                            // the result was made by the scalar loop
  double cycles_per_element = 0;                                   // estimate
  double cycles_per_run = 0;  // of starts, whatever the number of elements
  std::string text;           // the expression, for comments
};

// Code for out[i] = expr(inputs[0][i], inputs[1][i], ...), i < n. If `fabric_out` is not empty and the last
// step is a vector instruction, it writes to that descriptor instead of `out`, and `to_fabric` says so.
struct ExpressionTarget {
  std::vector<Buffer> inputs;
  std::vector<bool> numbers = {};  // inputs that are the same for all elements: `element` is their text
  Buffer out;
  std::string fabric_out;
  std::string temporary = "t";  // temporaries are named t0, t1, …
  int n = 1;
  bool one_part = false;  // descriptors cannot move along the slice: they have several dimensions
};
struct ExpressionResult {
  ExpressionCode code;
  bool to_fabric = false;
};
ExpressionResult generate_expression(const ops::Expr&, const ExpressionTarget&, const Machine&);

// Step 1 alone; `numbers`: inputs that are the same for all elements.
// `moved`: the new node of each old one.
ops::Expr rewrite_for_vectors(const ops::Expr&, const std::vector<bool>& numbers = {},
                              std::vector<int>* moved = nullptr);
// The code in numbers, with inputs that begin in these halves of eight bytes (Buffer::phase); the result goes
// to the fabric if it can, or is to stay in the first operand's place.
kernels::ChainCost chain_cost(const ops::Expr&, const std::vector<int>& phases, const Machine&,
                              bool in_place = false);
// It is one vector instruction that reads its first operand once: that one may be a stream, and so may the
// result.
bool passes_through(const ops::Expr&, const Machine&);
// Every kind of node can be generated; if not, which one cannot.
bool expression_supported(const ops::Expr&, std::string& why);

}  // namespace cs::autogen

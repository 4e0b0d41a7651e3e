// From an expression tree to CSL: vector instructions as far as the tree allows, then at most one loop of
// scalars.
//
//   1. rewrite   selects that are a maximum or minimum, divisions by powers of two, min as -max(-a, -b)
//   2. split     a node that no vector instruction computes, and all that depends on it, go into one loop
//   over the
//                elements that calls <math>; everything else is a sequence of vector instructions before it
//   3. fuse      b + a * constant becomes one multiply-add instruction
//   4. buffers   temporaries are reused after the last use of their value
// The expression is hash-consed, so that a common subexpression is computed once.
#pragma once

#include <string>
#include <vector>

#include "compiler/autogen/scalar_code.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

// A buffer of the generated code: its element in the loop of scalars over i, and its descriptor.
struct Buffer {
  std::string element;     // "x0[i]", "x0[at + 3 * i]"
  std::string descriptor;  // "x0_dsd"
  bool operator==(const Buffer&) const = default;
};

struct ExpressionCode {
  std::vector<std::string> lines;        // statements, without indentation of their own level
  std::vector<std::string> temporaries;  // buffers to declare: arrays t0 … with descriptors t0_dsd …
  bool uses_math = false, uses_round = false, uses_power = false;  // see scalar_helpers()
  bool in_loop = false;                                            // the result was made by the scalar loop
  double cycles_per_element = 0;                                   // estimate
  std::string text;                                                // the expression, for comments
};

// Code for out[i] = expr(inputs[0][i], inputs[1][i], ...), i < n. If `fabric_out` is not empty and the last
// step is a vector instruction, it writes to that descriptor instead of `out`, and `to_fabric` says so.
struct ExpressionTarget {
  std::vector<Buffer> inputs;
  Buffer out;
  std::string fabric_out;
  std::string temporary = "t";  // temporaries are named t0, t1, …
  int n = 1;
};
struct ExpressionResult {
  ExpressionCode code;
  bool to_fabric = false;
};
ExpressionResult generate_expression(const ops::Expr&, const ExpressionTarget&, const Machine&);

// Step 1 alone.
ops::Expr rewrite_for_vectors(const ops::Expr&);
// Estimate of step 2's result without its text.
double expression_cycles(const ops::Expr&, const Machine&);
// It is one vector instruction that reads its first operand once: that one may be a stream, and so may the
// result.
bool passes_through(const ops::Expr&, const Machine&);
// Every kind of node can be generated; if not, which one cannot.
bool expression_supported(const ops::Expr&, std::string& why);

}  // namespace cs::autogen

// DTG for elementwise chains: one CSL module for one PE of a row of PEs, from the expression of the chain.
//
// Parameters of the module (the same for every chain; <i> counts operands, <j> constants):
//   x<i>_color, x<i>_queue · y_color, y_queue · send_control, control · compute_id, start_id · if there are
//   several operands: arrived<i>_id, shared (others take the stream of one of them too) · c<j>: [*]f32,
//   elementwise constants, which begin 4 bytes beyond a multiple of 8
// And the epilogue form: a module that works on `y` in place, run() being called by the kernel it belongs to,
// or by the host where operands lie on the PEs.
#pragma once

#include <string>

#include "compiler/autogen/expression.h"

namespace cs::autogen {

// In which half of eight bytes arrays begin, so that two can be read in one cycle: operands in turns,
// constants in the second one, behind an unused element.
inline int operand_phase(int operand) { return operand % 2; }
constexpr int kConstantPhase = 1;

struct ElementwiseSpec {
  std::string title;     // "LeakyRelu_1: leaky_relu of f32[1, 20]"
  std::string sharding;  // "20 elements on 1 x 1 PEs, 20 each"
  ops::Expr expr;        // operands first, then constants
  int operands = 1, constants = 0;
  int n = 1;              // elements on this PE
  bool in_turns = false;  // PEs send one after the other
};

std::string elementwise_module(const ElementwiseSpec&, const Machine&);
// Parameters: y: [*]f32 (n elements, operand 0 and the result), x<i>: [*]f32, c<j>: [*]f32; operands begin as
// operand_phase() says, constants 4 bytes beyond a multiple of 8. Exports fn run() void.
std::string epilogue_module(const ElementwiseSpec&, const Machine&);

// The declarations of the temporaries of generated code, and of what it imports.
std::string declare_temporaries(const ExpressionCode&);
std::string declare_helpers(const ExpressionCode&);
// Lines at an indentation.
std::string indented(const std::vector<std::string>& lines, int spaces);

}  // namespace cs::autogen

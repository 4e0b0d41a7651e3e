// Code of an expression for one element: a constant per node, in f32 or i32 as the operands demand, <math>
// for the functions.
//
// Types go upwards from the operands. Integers stay integers through + - * min max and comparisons; a
// quotient of integers truncates where it is the result itself, and is an f32 inside a larger expression;
// functions take and give f32. Constants and conditions take the type that their user has.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/autogen/vector_code.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

enum class ScalarType : uint8_t { f32, i32 };

struct ScalarInput {
  std::string text;  // "x0[i]"
  ScalarType type = ScalarType::f32;
};

struct ScalarCode {
  std::vector<std::string> lines;  // const v0: f32 = …;
  std::string value;               // of the whole expression, in the type asked for
  bool uses_math = false, uses_round = false, uses_power = false;
  double cycles = 0;  // estimate
};

// `prefix` names the constants.
ScalarCode scalar_code(const ops::Expr&, std::span<const ScalarInput>, ScalarType result, const Machine&,
                       const std::string& prefix = "v");

// What the functions that the code calls need at module level.
std::string scalar_helpers(bool uses_math, bool uses_round, bool uses_power);

}  // namespace cs::autogen

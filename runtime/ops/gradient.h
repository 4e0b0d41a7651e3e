// Reverse mode of one operator, as steps of the operator table: what its operands' gradients are, given those
// of its results.
//
// Names are positional: operands "x0", "x1", ..., results "y0", ..., gradients of results "dy0", ...; the
// steps define "dx<i>" of the operands that are wanted. One that is zero everywhere is left undefined.
//
//   elementwise rows   their derivative, lowered to rows of the table; what was broadcast is summed back
//   other rows         the rule in their column `gradient`
//   compounds          without a rule: their steps, computed again and differentiated one after another
//
// A loss has a row of its own for its backward pass, made by gradient_row(), so that the compiler can make
// one kernel of it.
#pragma once

#include "runtime/ops/ops.h"

namespace cs::ops {

struct GradientCall {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const TensorType* const> inputs;  // null: absent
  std::span<const TensorType> outputs;        // of the results, as far as anybody names them
  std::vector<bool> wanted;                   // operands whose gradient is wanted
  std::vector<bool> given;                    // results that have a gradient

  const TensorType* input(size_t k) const { return k < inputs.size() ? inputs[k] : nullptr; }
  bool wants(size_t k) const;  // and it is there, and of floating point
  bool gives(size_t k) const { return k < given.size() && given[k]; }
  ShapeContext context() const { return {op, attrs, inputs}; }
};

// False where the row has no gradient; `error` names it and says why.
bool gradient_steps(const GradientCall&, std::vector<DecompositionStep>&, std::string& error);
// The same of a list of steps. `operands` are the names of x0, x1, ...; `results` those of y0, y1, ... Values
// that the backward pass needs are computed again, results too if `again`; what is not needed falls away.
bool gradient_of_steps(const GradientCall&, std::span<const DecompositionStep> forward,
                       const std::vector<std::string>& operands, const std::vector<std::string>& results,
                       bool again, std::vector<DecompositionStep>&, std::string& error);

// The row "<name>_gradient" of a compound. Operands: those of the row, then d_<result> of every result.
// Results: d_<operand> of every operand; nothing is in those of operands that are absent or not of floating
// point, and a gradient that is zero everywhere is zeros. Attributes: those of the row, and `wanted`, the
// numbers of the operands whose gradients are computed (empty: all).
OpDef gradient_row(const OpDef&);
// gradient_row() of every row that is a loss.
void add_gradient_rows(std::vector<OpDef>&);
// Fills in the columns `gradient` and `no_gradient` (gradient_rows.cpp).
void set_gradients(std::vector<OpDef>&);

}  // namespace cs::ops

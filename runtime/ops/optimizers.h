// What a training step needs to know of the optimizer rows (rows_optimizers.cpp). Every one of them is called
// as
//
//   new_parameter, new_STATE... = row(parameter, gradient, learning_rate, [step,] STATE...)
//
// The learning rate and the number of the step, from 1, are scalars at run time: schedules and corrections
// that depend on the step need no other program. State begins as zeros, but for what an optimizer's options
// say.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

struct OptimizerNeeds {
  bool step = false;               // the number of the step is an operand
  std::vector<std::string> state;  // operands of the parameter's shape, in the row's order
};
// Of a call with these attributes; other state operands may be absent.
OptimizerNeeds optimizer_needs(const OpDef&, const Attrs&);
// Whether the row is one of an optimizer.
bool is_optimizer(const OpDef&);

}  // namespace cs::ops

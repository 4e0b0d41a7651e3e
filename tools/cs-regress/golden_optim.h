// Optimizer cases of a golden collection: one graph that runs all steps of a case, from the parameter and the
// gradient of every step to the parameter after every step and the state at the end.
#pragma once

#include <string>

#include "tools/cs-regress/golden_graph.h"
#include "tools/cs-regress/job.h"

namespace cs::golden {

// In fp16 the parameter and the gradients arrive in 16 bits and the parameters leave in 16 bits; in between
// are master weights and state of 32 bits.
bool build_optimizer(const Case&, CaseGraph&);
// Every expected tensor of the case against the output of its name; `dtype` as of the CaseGraph.
void judge_optimizer(const Case&, DataType dtype, const std::string& outputs, Result&);

}  // namespace cs::golden

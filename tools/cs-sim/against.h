// --against OUT2: a second Program with the same inputs, all figures side by side.
#pragma once

#include <vector>

#include "runtime/host/npz.h"
#include "runtime/program/program.h"
#include "simulator/report/run_report.h"
#include "tools/cs-sim/options.h"

namespace cs {

// Fills comparisons and against_note of the report; false with a diagnostic if the other program does not
// run.
bool run_against(const SimOptions&, const Program&, const std::vector<NamedArray>& outputs, sim::RunReport&,
                 Diag&);

}  // namespace cs

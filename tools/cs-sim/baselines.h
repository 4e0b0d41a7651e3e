// Baselines: OUT/baselines/<kernel>/{this,base}.csp, a generated kernel and its handwritten or primitive
// counterpart, each alone on the same rectangle. Each pair is run once; results are kept in
// OUT/baselines/results.json by content.
#pragma once

#include "runtime/support/diag.h"
#include "simulator/report/run_report.h"
#include "tools/cs-sim/options.h"

namespace cs {

// Fills KernelReport::counterpart of every kernel that has a baseline, and baselines_note if something is
// missing.
void run_baselines(const SimOptions&, sim::RunReport&);

}  // namespace cs

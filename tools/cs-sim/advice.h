// Advice: OUT/advice/N/{command,this.csp}, the same model compiled in other ways. Each is run with this run's
// inputs; those that gain are reported with the command that makes them. Results are kept in
// OUT/advice/results.json by content.
#pragma once

#include <vector>

#include "runtime/host/npz.h"
#include "runtime/program/program.h"
#include "simulator/report/run_report.h"
#include "tools/cs-sim/options.h"

namespace cs {

// The values of a run.
struct RunValues {
  const std::vector<NamedArray>&inputs, &outputs;
};
// Fills RunReport::advice and advice_note. A candidate must give the same outputs.
void run_advice(const SimOptions&, const Program&, const Machine&, const RunValues&, sim::RunReport&);

}  // namespace cs

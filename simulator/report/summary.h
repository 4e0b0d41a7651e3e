// summary: a dozen lines about a run that fit into a paper or a terminal, with a small table of kernels.
#pragma once

#include <string>

#include "simulator/report/run_report.h"

namespace cs::sim {

std::string summary(const RunReport&);
// "ok: 1 tensor, max error 2e-07 (tolerance 1e-04); 5,130 cycles"
std::string one_line(const RunReport&);
// "1,234,567"
std::string grouped(uint64_t value);

}  // namespace cs::sim

// report.html: one file that opens offline. The figures are embedded as JSON; plain JavaScript draws them.
#pragma once

#include <string>

#include "simulator/report/run_report.h"

namespace cs::sim {

std::string report_page(const RunReport&);

}  // namespace cs::sim

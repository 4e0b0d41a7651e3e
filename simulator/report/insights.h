// Insights: what a reader should look at first, each with the number and what it means. What to change is
// said only where it was tried.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/run_report.h"

namespace cs::sim {

struct Insight {
  std::string title;  // "fc1 needs 62 % of the latency"
  std::string advice;
};
std::vector<Insight> insights(const RunReport&);

}  // namespace cs::sim

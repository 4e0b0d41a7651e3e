// The table of networks: what the compiler expects of each, what is simulated, and both against an earlier
// build.
#pragma once

#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// A line per row with `baseline_interval`; empty if the suite has none. Below: how many estimates lie within
// 15 and 30 %, the geometric mean of baseline over interval, of all rows and of those that branch, and the
// rows that became slower.
std::string network_text(const std::vector<Result>&);

}  // namespace cs

// Other runs that a report needs (one sample alone, the program to compare with, baselines), each in a
// process of its own: cs-sim --json, because SystemC allows one elaboration per process.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/cs-sim/options.h"

namespace cs {

struct ChildRun {
  nlohmann::json stats;  // stats.json of the run
  int exit_code = 0;
  std::string error;  // what it said on stderr, if it failed
};

// Runs `program` with the same machine, limits and threads as `o`. With the argument "--child" it starts no
// runs itself (no one-sample run for the kernels' cycles). Failures are in the result.
ChildRun run_child_sim(const SimOptions& o, const std::string& program,
                       const std::vector<std::string>& arguments);

}  // namespace cs

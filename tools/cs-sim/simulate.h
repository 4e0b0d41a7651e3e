// One simulation from options to files: load, run, collect, compare, report.
#pragma once

#include <atomic>
#include <string>

#include "tools/cs-sim/options.h"

namespace cs {

// Returns the exit code. `command` is the command line for run.json; a run ends early when `interrupted`
// becomes true.
int simulate(const SimOptions&, const std::string& command, const std::atomic<bool>& interrupted);

}  // namespace cs

// One simulation from options to files: load, run, collect, compare, report.
#pragma once

#include <string>

#include "tools/cli/tool.h"
#include "tools/cs-sim/options.h"

namespace cs {

// Returns the exit code. `command` is the command line for run.json; a run ends early when cli::interrupted()
// becomes true.
int simulate(const SimOptions&, const std::string& command, cli::Reply&);

}  // namespace cs

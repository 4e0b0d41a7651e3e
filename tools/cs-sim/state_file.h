// The file of --state: what is inside of PEs when the run ends.
#pragma once

#include "runtime/support/diag.h"
#include "simulator/engine/engine.h"
#include "tools/cs-sim/options.h"

namespace cs {

// What is wrong with the two options, empty if nothing is.
std::string check_state_options(const SimOptions&);
// Nothing to do without --state. The file appears complete.
bool write_state(const SimOptions&, const sim::Engine&, Diag&);

}  // namespace cs

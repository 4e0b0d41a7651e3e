// cs-sim --model structural: a run on the structural model, for its cycles, outputs and a waveform of every signal.
#pragma once

#include "tools/cli/tool.h"
#include "tools/cs-sim/options.h"

namespace cs {

// The option that this model does not have; empty if there is none.
std::string beyond_the_structural_model(const SimOptions&);
// Returns the exit code.
int simulate_structurally(const SimOptions&, cli::Reply&);

}  // namespace cs

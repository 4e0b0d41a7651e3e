// Which options belong to which kind of program: a network, a step of training, anyone's CSL.
#pragma once

#include "runtime/program/program.h"
#include "tools/cs-sim/options.h"

namespace cs {

// A host part without steps is initial memory only: a host program drives the wafer.
inline bool runs_by_itself(const Program& p) { return p.host && !p.host->steps.empty(); }

// Whether the options that were given are for a program of this kind; false with an error.
bool options_fit(const SimOptions&, const Program&, Diag&);

}  // namespace cs

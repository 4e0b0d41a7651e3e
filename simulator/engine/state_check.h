// Whether the state of a core, as it was read, can be one of this Program: what the engine takes as an index lies
// inside.
#pragma once

#include "simulator/engine/pe.h"
#include "simulator/engine/world.h"

namespace cs::sim {

bool plausible(const Pe&, const World&);

}  // namespace cs::sim

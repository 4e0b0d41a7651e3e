// Copies of a network (--copies): how many bring something, and a Program with all of them. Internal to tools/api.
#pragma once

#include "tools/api/ladder.h"

namespace cs::api {

// What host and fabric have room for, of a network that was mapped: ports at the edges, PEs, and what the host's
// network brings. More copies take samples no faster; that many have a place only if strips of the fabric hold one
// each.
int most_copies(const CompileOptions&, const Compiled&);

// --copies auto: in the place of one network in its form as many copies as take samples fastest by estimate. Leaves
// `one` as it is where two have no place, or take samples no faster.
void take_all_copies(const CompileOptions&, const passes::PipelineOptions&, const Start&, Formed& one);

}  // namespace cs::api

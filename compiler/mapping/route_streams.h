// Streams between instances and to and from the host, when the flows inside instances are known.
#pragma once

#include "compiler/mapping/route_paths.h"

namespace cs::mapping {

// The PEs of an instance that send its results in turns, the last of which is the exit: paths add its output ports.
void set_turns(const Instance&, Flow&);

// Each on the shortest way that is not crowded; colors come later.
bool route_streams(const Parts&, const Extent& fabric, const Machine&, FlowPlan&, Diag&);
// Each on a way on which a color is free everywhere. The plan's flows have colors. One that finds none has no way, or
// takes that of others (route_moves.h).
bool route_streams_in_colors(const Parts&, const Extent& fabric, const Machine&, InTheWay, FlowPlan&, Diag&);

}  // namespace cs::mapping

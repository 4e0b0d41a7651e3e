// Copies of the network (--copies N), which take the samples in turn.
//
// One network is sized, gets its buffers and is placed and routed on a strip of the fabric, with its host ports on the
// two edges that the strip shares with the fabric. Copies are the same strip again, moved: the same kernels, routes,
// colors and programs, so every copy takes the same cycles as the first, and mapping takes hardly longer than for one.
// Copy c of what is called NAME is called NAME_copyC (the first one keeps its name), host ports too.
#pragma once

#include <vector>

#include "compiler/mapping/mapping.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

// Repeats a network that was placed and routed on a strip of this extent, as often as Parts::copies says; `strip`
// becomes the extent of all of them.
void add_copies(Parts&, FlowPlan&, Extent& strip);
// Constants of PEs, in weights.bin once for all copies: those of the kernels of the first one and, moved by the extent
// of a strip, of those that are behind them.
void pack_copies(const Parts&, const Extent& fabric, Weights&, HostPart&);
// What the copies do together: one's interval divided by their number, unless the host's network brings less.
void estimate_copies(const Parts& one, const FlowPlan&, const Machine&, NetworkEstimate&);

// Says why so many copies have no room on a fabric that holds the network once; `why` is what one copy lacks on its
// strip, and `most` the largest number that was found to fit.
void report_no_room_for_copies(const std::string& model, const MapOptions&, const Machine&, const std::string& why,
                               int most, Diag&);

}  // namespace cs::mapping

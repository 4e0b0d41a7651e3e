// Copies of the network (--copies N), which take the samples in turn.
//
// One network of each band of strips (strips.h) is sized, gets its buffers and is placed and routed, with its host
// ports on the edges that its strip shares with the fabric. Copies are the same strip again, moved: the same kernels,
// routes, colors and programs, so every copy of a band takes the same cycles as its first, and mapping takes hardly
// longer than for one. Copy c of what is called NAME is called NAME_copyC (the first one keeps its name), host ports
// too.
#pragma once

#include <vector>

#include "compiler/mapping/mapping.h"
#include "compiler/mapping/place_network.h"
#include "compiler/mapping/strips.h"

namespace cs::mapping {

// The networks of all bands, each as often as it has strips, on the places of these.
Placed with_copies(const std::vector<Placed>& bands, const StripPlaces&);
// Constants of PEs: those that copies share are in weights.bin once.
void pack_copies(const Parts&, Weights&, HostPart&);
// What the copies do together, from the estimate of one: divided by their number, unless the host's network brings
// less.
void estimate_copies(const Placed& one, const Machine&, NetworkEstimate&);

// Says why so many copies have no room on a fabric that holds the network once; `why` is what one copy lacks on its
// strip, and `most` the largest number that was found to fit.
void report_no_room_for_copies(const std::string& model, const MapOptions&, const Machine&, const std::string& why,
                               int most, Diag&);

}  // namespace cs::mapping

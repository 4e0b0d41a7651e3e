// Kernels that are apart only as streams, which operands on the PEs are not (resident.h).
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Makes one kernel of all instances where a kind has a resident form for their nodes together: a chain of
// 16-bit floats, which is a region per operator where it is streamed; an activation behind a convolution; the
// products, factors and softmax of an attention. Not
// where nothing may be generated. False: nothing is changed, with the reason if there is one.
bool merge_resident(const graph::Graph&, const Machine&, Parts&, std::string& why);

}  // namespace cs::mapping

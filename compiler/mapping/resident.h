// Programs whose operands and results lie on the PEs, as host programs of the vendor's SDK use kernels: the
// host copies in, launches, copies out. One kernel, with the same text on every PE of a rectangle; no stream,
// no feeder.
// Each kind that has such a form says what lies where (kernels::ResidentArrays; docs/autogen.md lists them);
// of several that compute the same, the fastest by estimate is taken. 16-bit floats become f32 where they
// lie, before the kernel begins; its result is one of them again (resident_text.cpp). What else there is
// is refused, with the reason.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// From the parts of a graph: sizes the kernel, writes its files, host steps and reports. False: reported in
// diag.
bool map_resident(const graph::Graph&, Parts&, const MapOptions&, const Machine&, Mapped&, Diag&);

}  // namespace cs::mapping

// A block of a Program: what lies in one rectangle of the fabric, as a Program of its own.
#pragma once

#include "runtime/program/program.h"

namespace cs {

// The PEs and routes inside `block` (fabric coordinates, within the fabric), moved to (0, 0); streams of the
// host at what was the edge of the fabric and still is. The rectangle of the program moves along, and may
// then lie partly outside: coordinates that programs read stay those of the whole. There is no host part: it
// spans the wafer.
Program crop(const Program&, const Rect& block);

}  // namespace cs

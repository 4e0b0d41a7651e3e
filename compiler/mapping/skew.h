// Skews of the kernels of a network (kernels/skew.h).
#pragma once

#include <vector>

#include "compiler/kernels/skew.h"
#include "compiler/mapping/instances.h"

namespace cs::mapping {

using kernels::Skew;

Skew skew_of(const Instance&);
// Of all instances. Relays and buffers pass what their streams bring, whatever one of their instructions
// moves.
std::vector<Skew> skews_of(const Parts&);

}  // namespace cs::mapping

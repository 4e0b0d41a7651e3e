// The roof of a network: what no program for it can beat on the whole fabric of the machine (docs/report.md). It
// knows neither rectangles nor streams: operations at the rates of decisions/0009, weights, and bytes over the
// system's network.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

Roof roof_of(const Parts&, const Machine&);

}  // namespace cs::mapping

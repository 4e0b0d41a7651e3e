// From what the layout block said per PE to rectangles.
#pragma once

#include <vector>

#include "compiler/csl/unit.h"

namespace cs::csl {

std::vector<RouteRun> merge_routes(const LayoutState&);

}  // namespace cs::csl

// From what the layout block said per PE to rectangles.
#pragma once

#include <vector>

#include "compiler/csl/unit.h"

namespace cs::csl {

// `locs`: where the configuration of each run was given.
std::vector<RouteRun> merge_routes(const LayoutState&, std::vector<SourceLoc>& locs);

}  // namespace cs::csl

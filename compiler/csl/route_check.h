// Routes against their neighbours: what leaves a PE towards another one of the rectangle must be taken there.
#pragma once

#include "compiler/csl/mir.h"

namespace cs::csl {

// `runs` in coordinates of the user rectangle, one configuration per PE and color. Reports at most a few errors.
// PEs whose program changes routes itself (MirTile::reroutes) or whose color starts in teardown are left out.
void check_routes(const MirLayout&, const std::vector<RouteRun>& runs, const std::vector<SourceLoc>& locs, Diag&);

}  // namespace cs::csl

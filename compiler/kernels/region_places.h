// Which PEs of a region are looked at to know what a cut costs.
//
// Not all of them: programs of neighbours are alike, but what is cut in the middle of a row, or is read by
// several results, makes some of them much busier. Few are enough to find a direction in which cuts get
// better, many before one is chosen.
#pragma once

#include <utility>
#include <vector>

#include "compiler/autogen/region.h"

namespace cs::kernels {

enum class Look { few, many };  // PEs

// PEs that stand for all, as (x, y): the corners, the one beside the first, one from the middle, the first and the
// last of the most cut ones; if many, also the rows and the columns of the latter three.
using Places = std::vector<std::pair<int, int>>;
Places places_of(const autogen::Region&, const autogen::RegionCut&, Look);

}  // namespace cs::kernels

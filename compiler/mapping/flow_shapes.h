// Flows that do the same in different places, whatever their colors are: thousands of streams have few
// shapes.
#pragma once

#include <vector>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

struct ShapedFlow {
  size_t shape = 0;  // the first flow that does the same
  Coord at;          // the corner of its smallest rectangle: routers of equal shapes lie alike from there
};
std::vector<ShapedFlow> shapes_of(const std::vector<Flow>&);

}  // namespace cs::mapping

// A graph as DOT, for `cs-compile --emit dot`: nodes as boxes by origin, kernel groups as clusters.
#pragma once

#include <string>

#include "compiler/graph/graph.h"

namespace cs::graph {

std::string graph_dot(const Graph&);

}  // namespace cs::graph

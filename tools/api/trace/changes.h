// Two graphs that should be one: the first difference, in the terms of the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/api/trace/canonical.h"

namespace cs::tracing {

using Signature = std::vector<std::pair<std::string, std::string>>;  // arguments with their types

// The graph that was traced in this iteration against that of iteration 0.
GraphChanged graph_changed(const std::string& step, int64_t iteration, const std::vector<Line>& before,
                           const std::vector<Line>& after);
// Arguments of a step that is not traced again.
GraphChanged arguments_changed(const std::string& step, int64_t iteration, const Signature& before,
                               const Signature& after, const std::vector<Line>& graph);

}  // namespace cs::tracing

// What a traced function has become: branches and loops that it told of, and which nodes each of its lines
// made.
#pragma once

#include <string>

#include "tools/api/trace/tracer.h"

namespace cs::tracing {

// A line of text for every line of the program, in the order of the trace.
std::string explain(const Tracer&);

}  // namespace cs::tracing

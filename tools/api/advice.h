// Advice: other ways to compile the same model that may be faster. Which are tried follows from what bounds
// the network; whether one is faster cs-sim --report finds out.
#pragma once

#include <vector>

#include "tools/api/api.h"

namespace cs::api {

// At most three Programs that differ from the compiled one and from each other. What does not compile is left
// out.
std::vector<CompiledAdvice> make_advice(const CompileOptions&, const Compiled&);

}  // namespace cs::api

// The CSL of a program with resident operands (resident.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Every file but those of the library. `function` is what the host launches.
std::map<std::string, std::string> resident_files(const Instance&, const char* function, const Machine&);

}  // namespace cs::mapping

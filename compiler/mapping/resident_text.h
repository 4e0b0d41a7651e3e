// The CSL of a program with resident operands (resident.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Partial results of a reduction meet along the PEs of a row.
bool meets_on_line(const Instance&);
// Arrays that the host reaches: operands, the result of a reduction, constants; and their elements on a PE.
std::vector<std::string> resident_symbols(const Instance&);
int resident_words(const Instance&, const std::string& symbol);
// Every file but those of the library. `function` is what the host launches.
std::map<std::string, std::string> resident_files(const Instance&, const char* function, const Machine&);

}  // namespace cs::mapping

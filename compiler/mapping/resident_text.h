// The CSL of a program with resident operands (resident.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Under which the host finds the result. 16-bit floats in the place of an operand are elsewhere than that
// was.
std::string result_symbol(const kernels::ResidentArrays&);

// Every file but those of the library. `function` is what the host launches, `words` the arrays of operands of 16 bits
// that it copies two elements to a word.
std::map<std::string, std::string> resident_files(const Instance&, const char* function,
                                                  const std::set<std::string>& words, const Machine&);

}  // namespace cs::mapping

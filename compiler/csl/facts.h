// What can be said about functions and files from their text alone.
#pragma once

#include "compiler/csl/unit.h"

namespace cs::csl {

FunctionFacts function_facts(const ast::Function&);
NameUses name_uses(const ast::File&);

}  // namespace cs::csl

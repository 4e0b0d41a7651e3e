// Which bits of every register anything reads.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/csl/mir_code.h"

namespace cs::csl::mir {

// By register, over the whole function: bits of its value that somebody may see. Scalar instructions hand on
// what is wanted of their result; everything else wants all.
std::vector<uint32_t> demanded_bits(const MirFunction&, const Code&);

}  // namespace cs::csl::mir

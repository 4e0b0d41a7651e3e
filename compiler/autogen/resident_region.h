// A region whose operands and results lie on the PEs: every PE has the same share of the leading dimension of
// each of them, or the whole, and runs the same code.
//
// Parameters of the module, all [*]f32 or [*]i32:
//   x<i>   this PE's part of operand i
//   y<j>   of result j
//   c<k>   of constant k
#pragma once

#include <optional>
#include <string>

#include "compiler/autogen/region_estimate.h"
#include "compiler/autogen/region_module.h"

namespace cs::autogen {

// A cut over w x h PEs by which PE after PE, row by row, has the next part of every result; nothing if there
// is none. The share is that of the first PE.
struct ResidentShare {
  RegionCut cut;
  RegionShare share;
};
std::optional<ResidentShare> share_resident(const Region&, int w, int h);
// The PE keeps all of a buffer, else its part: so many words.
bool keeps_all(const Region&, const RegionShare&, int buffer);
int64_t words_kept(const RegionShare&, int buffer);

std::string resident_region_module(const Region&, const RegionShare&, const RegionTitle&, const Machine&);

// Cycles of one PE that the operations of the whole region take at least (least_cycles.h).
double least_cycles(const Region&, const Machine&);

}  // namespace cs::autogen

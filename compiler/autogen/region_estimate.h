// What a share costs, without its module: cycles of computing and words of memory.
#pragma once

#include "compiler/autogen/region.h"
#include "compiler/autogen/region_code.h"
#include "compiler/autogen/statement_costs.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

// By buffer of a region with resident operands: it begins 4 bytes beyond a multiple of 8, so that what one
// instruction reads lies in two banks. Empty for others.
std::vector<bool> odd_buffers(const Region&);
// The body of the share's fn compute_sample; `names` and `integers` by buffer.
RegionCode region_code(const Region&, const RegionShare&, const Machine&);

struct RegionEstimate {
  double compute_cycles = 0;
  int64_t words = 0;
  uint32_t code_bytes = 0;
};
// Of that code, which need not be written for it.
RegionEstimate estimate_region(const Region&, RegionShare, StatementCosts&);

}  // namespace cs::autogen

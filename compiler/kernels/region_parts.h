// What a region's kind has in files of its own: its plans, its roles and its constants.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernels/choice.h"
#include "compiler/kernels/region_layout.h"

namespace cs::kernels {

// Plans of a region: rows with the best axis for each number of PEs, then rectangles; of a size that is
// forced, just that. A sample is `rounds` rounds of the region.
std::vector<Plan> region_plans(const autogen::Region&, int64_t rounds, const Extent& limit,
                               const Extent& forced, const Costing&);
struct RegionCosts {
  Cost row;                 // on the best row of PEs
  std::optional<Cost> any;  // on the best rectangle; not looked for where a row is enough
};
// An interval up to `enough` is as good as any other: then a row will do.
RegionCosts region_costs(const autogen::Region&, const Costing&, double enough);

void region_roles(const Choice&, const Setting&, const RegionLayout&, InstanceRoles&);

std::vector<PackedPart> pack_region(const Choice&, const RegionLayout&);
// Arrays beside its constants, of i32.
std::vector<std::string> region_symbols(const Choice&, const RegionLayout&);

}  // namespace cs::kernels

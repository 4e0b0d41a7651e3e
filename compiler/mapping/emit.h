// Emission: layout text, PE files, constants in weights.bin, rows of the report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/mapping/mapping.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/share.h"

namespace cs::mapping {

// layout.csl: which PE runs which file, what every router does, which names the host may use.
std::string layout_text(const std::string& model, const Extent& fabric, const SharedRoles&, const FlowPlan&,
                        const Parts&);
// Appends the instance's constants as its PEs hold them, with one row per rectangle of equal extents.
void pack_constants(const Instance&, Weights&, HostPart&);
// Kernel rows of all instances, placement and flow reports, floor plan and memory table.
void fill_reports(const Parts&, const FlowPlan&, const Extent& fabric, const Machine&, Mapped&);

}  // namespace cs::mapping

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
void pack_region(const Instance&, Weights&, HostPart&);
// So many lists of words, which are made one after the other when the weights are read.
Weights::Source source_of_words(size_t lists, std::function<void(size_t list, std::vector<uint32_t>&)> append);
// Arrays of i32 beside its constants that PEs of the region export, below the instance's name.
std::vector<std::string> region_symbols(const Instance&);
// Kernel rows of all instances, placement and flow reports, floor plan and memory table.
void fill_reports(const Parts&, const FlowPlan&, const Extent& fabric, const Machine&, Mapped&);

// Sets of PEs as few loops: runs of a row with step 1 or 2, rows with equal runs together.
std::vector<Run> runs_of(const std::vector<RouterKey>& pes);

}  // namespace cs::mapping

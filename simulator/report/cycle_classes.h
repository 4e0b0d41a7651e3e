// What the cycles of a run consist of, and how far such cycles are from those that others measured.
//
// PE cycles in which something was at work or waited, of the PEs used:
//   fabric           element groups with a fabric operand, waiting for wavelets and for room
//   vector           element groups in memory, waiting for banks
//   scalar           instructions that issue, and what they wait for: results, descriptors, jumps
//   task             from an event to the first instruction of its task
//   launch           from the host's command to the first instruction of its function
//   foreign library  all of these in code of a library of ours that stands for one of the vendor's
// The error of a class is that of configs/suites/fidelity.yaml, as `cs-regress --update` writes it beside the
// suite.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "simulator/report/run_report.h"

namespace cs::sim {

// From the counters, the launches and, if the run was listened to, the lines.
void add_classes(RunReport&, const Program&);

// A library whose cycles are not those of the vendor's: "<collectives_2d/pe.csl>".
bool is_foreign_library(const std::string& file);

// Mean of the classes' errors over the cycles, percent; nothing if a class that has cycles has none.
std::optional<double> expected_error(const std::vector<CycleClass>&);

// "fabric 40.1 % (1.6 %), …" with the error of each in parentheses.
std::string classes_line(const RunReport&);
nlohmann::ordered_json classes_json(const RunReport&);

}  // namespace cs::sim

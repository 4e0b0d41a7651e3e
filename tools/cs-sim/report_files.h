// The files of --report DIR, and small things that go into them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/machine/machine.h"
#include "simulator/report/collect.h"
#include "simulator/report/stats_json.h"
#include "tools/cs-sim/options.h"

namespace cs {

// run.json, config.yaml, stats.json, report.html; each appears complete.
bool write_report(const SimOptions&, const sim::RunRecord&, const sim::RunReport&, Diag&);

// What run.json has of every run: tool, program, its command and how it ended.
sim::RunRecord run_record(const SimOptions&, const std::string& program, const std::string& command,
                          int exit_code, double seconds);

// Every effective value: the machine after --set, and the options of the run.
std::string config_text(const SimOptions&, const Machine&);
double peak_memory_mb();
// Kernel cycles from the stats.json of another run.
std::vector<sim::KernelSpan> kernel_spans(const nlohmann::json& stats);

}  // namespace cs

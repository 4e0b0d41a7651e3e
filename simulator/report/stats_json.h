// stats.json, schema wafersmith-stats/1, and run.json. Names never change their meaning inside a version.
#pragma once

#include <string>

#include "simulator/report/run_report.h"

namespace cs::sim {

// One JSON object without a newline at its end. `indent` < 0: one line.
std::string stats_json(const RunReport&, int indent = 1);
// What the page draws beyond the statistics: maps, timeline, insights, configuration.
std::string page_json(const RunReport&);

struct RunRecord {  // run.json: what ran
  std::string tool_version, program, program_hash, command;
  uint64_t seed = 0;
  int exit_code = 0;
  double wall_s = 0;
};
std::string run_json(const RunRecord&, const RunReport&);

}  // namespace cs::sim

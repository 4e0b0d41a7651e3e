// Launches in a report: tile programs, lines and functions of a CSL program, and launches by function.
#pragma once

#include <string>
#include <vector>

#include "simulator/report/run_report.h"

namespace cs::sim {

class Profile;
void add_profile(RunReport&, const Profile&);

// All launches of a function that ended, in the order of the first one.
struct LaunchedFunction {
  std::string name;
  uint64_t launches = 0, ended = 0;
  int64_t pes = 0;
  Cycle cycles = 0, shortest = 0, longest = 0;
  uint64_t pe_cycles = 0;
  Coord last_pe = {};  // of the longest launch: the PE that ended last, and how long after the first one
  Cycle behind = 0;
};
std::vector<LaunchedFunction> launched_functions(const std::vector<LaunchSpan>&);

}  // namespace cs::sim

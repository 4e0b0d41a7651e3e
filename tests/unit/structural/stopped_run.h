// Runs of an Experiment that are stopped for a checkpoint and go on from it.
#pragma once

#include <string>
#include <vector>

#include "simulator/engine/engine_device.h"
#include "tests/unit/structural/outcome.h"

namespace cs::sim::test {

// All that anybody can see of a run.
struct Seen {
  std::vector<std::string> host, printed;
  std::vector<uint64_t> counters;
  std::vector<uint8_t> memory;
  Cycle last_event = 0;
};
std::string difference(const Seen&, const Seen&);

// Runs `e` to its end, from the checkpoint `from` if there is one. `file` gets a checkpoint of the cycle `stop`.
Seen run_with_stops(const Experiment& e, const EngineOptions&, Cycle stop, std::string* file, const std::string* from);

// Counters and memory of all PEs at the present cycle.
void count(const Engine&, const Experiment&, Seen&);

// Without a stop; with a checkpoint at a random cycle; from there, in other blocks, with another checkpoint; and from
// that. What differs, empty if nothing does. `stops` counts those whose first checkpoint lies inside the run.
std::string go_on(const Experiment& e, uint32_t seed, int& stops);

}  // namespace cs::sim::test

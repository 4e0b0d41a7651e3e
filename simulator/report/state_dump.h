// The state of PEs as text and as JSON (cs-sim --state): what they wait for, queues, tasks, registers,
// variables.
#pragma once

#include <string>
#include <vector>

#include "simulator/engine/engine.h"

namespace cs::sim {

std::string state_text(const Engine&, const std::vector<Coord>& pes);
// {"cycle": N, "pes": [...]}, schema wafersmith-state/1.
std::string state_json(const Engine&, const std::vector<Coord>& pes);

}  // namespace cs::sim

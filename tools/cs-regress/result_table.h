// Results of a suite as a person and as a program read them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// Rows with an expectation: source, point, expected, simulated, error.
std::string fidelity_text(const std::vector<Result>&);
// Rows without expectations that are no kernels and no networks: cycles, interval, memory, colors, origins.
std::string figures_text(const std::vector<Result>&);
// All of them, wafersmith-regress/1.
nlohmann::json to_json(const std::vector<Result>&);

}  // namespace cs

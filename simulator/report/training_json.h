// The parts of stats.json that only programs which train have; null for others.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/report/run_report.h"

namespace cs::sim {

nlohmann::ordered_json curves_json(const RunReport&);
nlohmann::ordered_json evaluations_json(const RunReport&);
nlohmann::ordered_json training_json(const RunReport&);

}  // namespace cs::sim

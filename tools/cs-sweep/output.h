// The files of a sweep: sweep.csv, sweep.json and sweep.html, the same for every order in which its points
// were run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/cs-sweep/sweep.h"

namespace cs::sweep {

// One object per point: what it is (program, machine, policy, swept keys, parameters), its outcome and its
// figures.
nlohmann::ordered_json rows_json(const std::vector<Point>&,
                                 const std::vector<nlohmann::ordered_json>& results);
// A line per row, a column per key that any row has, in order of appearance.
std::string csv(const nlohmann::ordered_json& rows);
// A page that needs no network: a plot of any figure over any swept key, and the table.
std::string page(const nlohmann::ordered_json& rows);

}  // namespace cs::sweep

// Runs one point of a sweep: cs-compile, then cs-sim, each in a process of its own.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/cs-sweep/sweep.h"

namespace cs::sweep {

struct RunSettings {
  std::string tools;  // folder of cs-compile and cs-sim
  std::string work;   // folder for artefacts
  double timeout_seconds = 600;
  const std::atomic<bool>* stop = nullptr;
};

// What tells this point from every other one, contents of its files and version of the tools included.
std::string key_of(const Point&);

// {"outcome": "ok"|"refused"|"failed"|"differs", "error": first line, "figures": {...}}; null if it was
// stopped. Nothing of it depends on the computer that runs it. `number` names its files.
nlohmann::ordered_json run_point(const Point&, size_t number, const RunSettings&);

}  // namespace cs::sweep

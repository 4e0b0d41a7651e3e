// What cs-objdump shows of a Program: each section as text and as JSON, from the same data.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/program/program.h"

namespace cs::objdump {

struct Input {
  Program program;
  Machine machine;
  std::vector<uint8_t> weights;
  // What the compiler expects of kernels from one sample to the next, by walks over their code and what their streams
  // make them wait for; of a Program without compile_report.json nothing.
  std::map<std::string, double> intervals;
};

// How many PEs run each tile program.
std::vector<int64_t> pes_of_tiles(const Program&);
// The tile program of a PE, or null if it has none.
const TileProgram* tile_at(const Program&, Coord);

std::string summary_text(const Input&);
std::string colors_text(const Input&);
std::string memory_text(const Input&);
std::string symbols_text(const Input&);
std::string routes_text(const Input&);
std::string tile_text(const Input&, Coord);

nlohmann::ordered_json summary_json(const Input&);
nlohmann::ordered_json colors_json(const Input&);
nlohmann::ordered_json memory_json(const Input&);
nlohmann::ordered_json symbols_json(const Input&);
nlohmann::ordered_json routes_json(const Input&);
nlohmann::ordered_json tile_json(const Input&, Coord);

// Who uses a color.
struct ColorUse {
  int64_t routers = 0;        // PEs with a route
  bool switches = false;
  int64_t receivers = 0, senders = 0;   // PEs whose router delivers to, accepts from the ramp
  std::vector<std::string> ports;
};
std::vector<ColorUse> color_uses(const Program&, int colors);

}  // namespace cs::objdump

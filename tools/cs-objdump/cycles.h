// --cycles: tile code with the cycles of one walk over it (compiler/csl/walk.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/csl/walk.h"
#include "tools/cs-objdump/sections.h"

namespace cs::objdump {

struct CycleOptions {
  std::string function;  // launched; empty: of a program with tasks at load none, else the first one
  std::map<uint32_t, uint32_t> trips;  // of loops whose end depends on data
};

// What one PE does.
struct PeCycles {
  Coord pe;
  const TileProgram* tile = nullptr;
  csl::Walked walked;
};
PeCycles cycles_of_pe(const Input&, Coord, const CycleOptions&);
// The exported function that is walked; empty: tasks.
std::string walked_function(const TileProgram&, const CycleOptions&);

// Of a Program of one kernel.
struct KernelCycles {
  std::string name;
  double alone = 0;         // of its slowest PE, whose words are there; 0: not known
  double cycles = 0;        // with what it waits for, as the compiler knows its streams
  bool per_sample = false;  // from one sample to the next; else from the launch to the end
};
KernelCycles kernel_cycles(const Input&, const CycleOptions&);

// Every tile program on the first PE that has it, and kernels.
std::string cycles_text(const Input&, const CycleOptions&);
nlohmann::ordered_json cycles_json(const Input&, const CycleOptions&);
// The listing of one PE's code.
std::string listing_text(const Input&, Coord, const CycleOptions&);
nlohmann::ordered_json listing_json(const Input&, Coord, const CycleOptions&);

}  // namespace cs::objdump

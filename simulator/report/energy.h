// Energy of a run from its counters and the machine's section `energy`: where it goes, in microjoules.
#pragma once

#include <cstdint>

#include "runtime/machine/machine.h"

namespace cs::sim {

// What is counted, over all PEs.
struct EnergyCounters {
  uint64_t hops = 0, memory_bytes = 0, flops = 0, half_flops = 0, instructions = 0;
  double pe_cycles = 0;  // of the PEs that executed something
};

struct Energy {
  double hops = 0, memory = 0, operations = 0, instructions = 0, idle = 0;  // microjoules
  double total() const { return hops + memory + operations + instructions + idle; }
};

Energy energy_of(const EnergyCounters&, const Machine::Energy&);

}  // namespace cs::sim

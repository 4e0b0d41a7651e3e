// MemoryUse: where the bytes of a simulation are, counted from its own tables and not from the process.
#pragma once

#include <cstdint>

namespace cs::sim {

struct MemoryUse {
  uint64_t working_pes = 0, idle_pes = 0;  // a program or only routes; working ones have had something to do
  // Of working PEs:
  uint64_t data = 0;        // what their programs declare: variables, constants, frames
  uint64_t fabric = 0;      // routers, colors, lanes and their places in the wheels
  uint64_t cores = 0;       // state of the core
  uint64_t registers = 0;   // descriptor registers, times of tasks, queues, FIFOs, what waits for a launch
  uint64_t operations = 0;  // of which as many as were ever at work at once
  uint64_t ahead = 0;       // ways back of cores that have run ahead
  uint64_t growth = 0;      // memory beyond what programs declare
  // Of idle ones:
  uint64_t idle = 0;
  // Once:
  uint64_t shared = 0;  // instructions as decoded, images of memory, host ports
  MemoryUse& operator+=(const MemoryUse&);
  double bytes_per_working_pe() const {  // beyond its program's data
    const uint64_t all = fabric + cores + registers + operations + ahead + growth;
    return working_pes == 0 ? 0 : double(all) / double(working_pes);
  }
  double bytes_per_idle_pe() const { return idle_pes == 0 ? 0 : double(idle) / double(idle_pes); }
};

}  // namespace cs::sim

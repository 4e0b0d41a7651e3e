// A run of a Program without a host part: copies arrays to exported symbols, launches functions, reads
// symbols back.
//
// Arrays are named as exported symbols and have the shape [h, w, n]: n elements on each PE of the smallest
// rectangle around the PEs that have the symbol (usually all of them).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/host/npz.h"

namespace cs {

struct LaunchRun {
  RunStatus status;
  int launches = 0;        // rounds of all functions that ended
  std::vector<Cycle> end;  // of each round
};

// Copies in, then runs `functions` in order, `rounds` times; without functions runs until nothing happens any
// more. Copies and launches take host time. Nothing is returned for bad input (reported).
std::optional<LaunchRun> run_launches(Device&, const std::vector<std::string>& functions, int rounds,
                                      const std::vector<NamedArray>& inputs, Cycle max_cycles, Diag&);
// All exported variables at the present cycle; takes no time.
std::vector<NamedArray> read_exports(Device&);

}  // namespace cs

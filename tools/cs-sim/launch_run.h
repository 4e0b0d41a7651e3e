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
  int rounds = 0;                // of all functions that ended
  std::vector<Cycle> end;        // of each round
  std::vector<LaunchSpan> spans;  // of each launch
  double host_seconds = 0;        // the host's own time for its calls
};

// A function to launch with its arguments, as raw 32-bit values.
struct Launch {
  std::string function;
  std::vector<uint32_t> args;
};

// What --launch says: functions with commas between them, arguments in parentheses: `init,run(1,-2,0.5)`.
// Numbers with a point or an exponent are f32, others integers. Nothing for bad input (reported).
std::optional<std::vector<Launch>> read_launches(const std::vector<std::string>& texts, Diag&);

// Copies in, then runs `functions` in order, `rounds` times; without functions runs until nothing happens any
// more. Copies and launches take host time. Nothing is returned for bad input (reported).
std::optional<LaunchRun> run_launches(Device&, const std::vector<Launch>& functions, int rounds,
                                      const std::vector<NamedArray>& inputs, Cycle max_cycles, Diag&);
// The functions that PEs have and --launch takes, as "run, init(i16, f32)"; empty if there is none.
std::string launchable(const Program&);

}  // namespace cs

// World: what all blocks share and only the host side or load changes: machine, program, prepared tiles,
// launches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/engine.h"
#include "simulator/engine/tile_image.h"

namespace cs::sim {

struct Launch {
  int function_export = 0;
  std::string name;
  std::vector<uint32_t> args;
  Cycle not_before = 0;
  int64_t pes = 0;  // that have the function
};

// What the PEs of a block have done of a launch.
struct LaunchTally {
  Cycle begin = kNever, last_begin = 0, first_end = kNever, end = 0;
  Coord last_pe;
  int64_t ended = 0;
  uint64_t pe_cycles = 0;
  void begins(Cycle t);
  void ends(Cycle t, Coord pe, Cycle begun);
  void add(const LaunchTally&);
};

// A line that a PE has written to the simulator's log.
struct PrintLine {
  Cycle cycle = 0;
  Coord pe;
  std::string text;
};

// A simulated fault, as found; the earliest by (cycle, y, x) is the one that is reported.
struct Fault {
  std::string name, message;
  Cycle cycle = kNever;
  Coord pe;
  bool before(const Fault& o) const {
    if (cycle != o.cycle) return cycle < o.cycle;
    if (pe.y != o.pe.y) return pe.y < o.pe.y;
    return pe.x < o.pe.x;
  }
};

// Faults that may be let pass, by their place in allowable_faults().
enum class Allowable : uint8_t { out_of_bounds, uninitialised_read, colour_conflict, queue_conflict, count };

struct World {
  Machine machine;
  Program program;
  std::span<const uint8_t> weights;
  std::shared_ptr<const void> weights_held;  // the file that they lie in, or a copy of them
  std::vector<TileImage> tiles;
  std::vector<Launch> launches;
  TraceSink* trace = nullptr;
  TraceSink* wavelets = nullptr;  // `trace` if it wants to hear of every wavelet
  TraceSink* details = nullptr;  // the same, if it wants details
  Cycle horizon = 0;  // cores that run ahead stop here: their state may be looked at
  Cycle near_horizon = 0;  // those that are watched stop here
  uint8_t allowed = 0;  // a bit per Allowable
  bool run_ahead = true;
  bool watched = false;  // the host may stop the run before the horizon: cores that run ahead keep a way back
  bool commands_watched = false;  // it does when the last command stream is given back: so do the others' cores
};

}  // namespace cs::sim

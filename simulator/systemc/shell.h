// Shell: the engine under SystemC, for those who do not include SystemC themselves (the tools). It drives
// sc_start: each run ends when its request is fulfilled.
//
// SystemC allows one elaboration per process, so there is one Shell per process, built after Engine::load.
// What SystemC wants to say goes to stderr; stdout belongs to the tool. One cycle is 1 ns here, whatever the
// machine's clock, so that a waveform reads in cycles.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulator/engine/engine.h"

namespace cs::sim {

class DrivenWafer;
class WaferModule;

struct ShellOptions {
  std::vector<Coord> probes;                    // PEs in the waveform
  std::string waveform;                         // VCD file without ".vcd"; empty: none
  Cycle window_begin = 0, window_end = kNever;  // the waveform changes only in [begin, end)
};

struct ShellRequest {
  Cycle target = kNever;       // stop when the clock is here; dead time before it passes
  Cycle limit = kNever;        // stop here too, but do not let dead time pass just to get there
  bool every_cycle = false;    // ask `stop` after every cycle with events, else when the engine
                               // stops for a watch and every few milliseconds
  std::function<bool()> stop;  // may be empty
};

class Shell {
 public:
  Shell(Engine& engine, const ShellOptions& options);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // Runs until the request is fulfilled, the engine faults, or nothing can happen any more.
  void run(const ShellRequest& request);
  // Calls `sampler` when the clock is at `first`, and then at the cycle that it returned each time.
  void set_sampler(Cycle first, std::function<Cycle()> sampler);
  void close_waveform();
  WaferModule& wafer();

 private:
  std::unique_ptr<DrivenWafer> wafer_;
};

}  // namespace cs::sim

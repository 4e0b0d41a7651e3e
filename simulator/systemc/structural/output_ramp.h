// OutputRamp: output queues and the way up to the router (docs/timing.md §5). Queue, ramp and the router's ramp lane
// are one store per color: a wavelet is in it from the execution of its element to its departure from the router.
#pragma once

#include <vector>

#include "runtime/machine/machine.h"
#include "simulator/systemc/structural/router.h"

namespace cs::sim::structural {

class OutputRamp : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(OutputRamp);
  OutputRamp(sc_core::sc_module_name, Clocks&, const Machine&, Router&);

  // The result of an element that executes in this cycle; `late`: ramp.fp_cycles of what arithmetic computed.
  void send(const Wavelet&, int late);
  // Wavelets of the color in queue, ramp and lane as of the start of the cycle.
  int taken(int color) const { return stored_[size_t(color)]; }
  // All that the core has sent on the color has reached the lane of its router.
  bool all_landed(int color) const;
  bool fits_lane(int color) const { return taken(color) <= machine_.router.lane_depth_wavelets; }

  Activity activity;

 private:
  struct Rising {
    Wavelet wavelet;
    Cycle lands = 0;
  };
  void commit();

  Clocks& clocks_;
  const Machine& machine_;
  Router& router_;
  std::vector<Rising> rising_;
  std::vector<int> stored_;        // by color
  std::vector<Cycle> last_lands_;  // by color
};

}  // namespace cs::sim::structural

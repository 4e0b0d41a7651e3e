// Link: the wires between two routers, or between a router and the edge. What departs in cycle t is at the other end
// in cycle t + hop_cycles (docs/timing.md §2); a register per cycle beyond the first.
#pragma once

#include <vector>

#include "simulator/systemc/structural/clocks.h"
#include "simulator/systemc/structural/wavelet.h"

namespace cs::sim::structural {

class Link : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Link);
  Link(sc_core::sc_module_name, Clocks&, int hop_cycles);

  sc_core::sc_signal<Wavelet> in{"in"};    // departs
  sc_core::sc_signal<Wavelet> out{"out"};  // written in the cycle before it lands
  sc_core::sc_signal<uint32_t> credit{"credit"};  // back: a bit per color whose lane at the far end lost a wavelet
  Activity activity;

 private:
  void shift();
  std::vector<Wavelet> stages_;
};

}  // namespace cs::sim::structural

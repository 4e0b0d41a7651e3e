// EdgePort: what lies outside of one edge router's link: the streams of the Program that cross there. They share the
// link and take turns wavelet by wavelet (docs/timing.md §11).
#pragma once

#include "runtime/machine/machine.h"
#include "simulator/systemc/structural/host_stream.h"
#include "simulator/systemc/structural/link.h"

namespace cs::sim::structural {

class EdgePort : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(EdgePort);
  EdgePort(sc_core::sc_module_name, Clocks&, const Machine&);

  // Wires: into the fabric and out of it.
  Link& in() { return in_; }
  Link& out() { return out_; }
  sc_core::sc_signal<uint32_t> room{"room"};  // outside, a bit per color

  // In the order of the Program's ports.
  HostInput& add_input(int color, double period);
  HostOutput& add_output(int color, double period);
  Activity activity;
  Activity& in_activity() { return in_.activity; }

 private:
  void enter();
  void leave();

  Clocks& clocks_;
  const Machine& machine_;
  Link in_, out_;
  std::vector<std::unique_ptr<HostInput>> inputs_;
  std::vector<std::unique_ptr<HostOutput>> outputs_;
  HostRate in_rate_, out_rate_;
  size_t last_ = SIZE_MAX;  // input that sent last
};

}  // namespace cs::sim::structural

// RampStreams: the host's end of colors that turn back at a PE's ramp (docs/timing.md §11). From the host, a wavelet
// enters the color's ramp lane; to the host, it leaves over the router's ramp output, as many as the host asked for.
#pragma once

#include <memory>

#include "runtime/machine/machine.h"
#include "simulator/systemc/structural/host_stream.h"
#include "simulator/systemc/structural/router.h"

namespace cs::sim::structural {

class RampStreams : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(RampStreams);
  RampStreams(sc_core::sc_module_name, Clocks&, const Machine&, Router&);

  void add_input(int color);
  void add_output(int color);
  // Null if the color does not stream in this direction here.
  HostInput* input(int color);
  HostOutput* output(int color);
  // From `first_turn` on a wavelet in every `period` cycles.
  void set_turns(int color, double period, double first_turn);
  void publish(Cycle cycle);  // room in that cycle; by the host when it has asked for more
  size_t words_pending() const;
  Activity activity;

 private:
  struct From {
    HostInput input;
    HostRate rate;
  };
  struct To {
    HostOutput output;
    HostRate rate;
  };
  struct Flight {
    Wavelet wavelet;
    Cycle lands = 0;
  };
  void enter();
  void commit();

  Clocks& clocks_;
  const Machine& machine_;
  Router& router_;
  std::vector<std::unique_ptr<From>> from_;
  std::vector<std::unique_ptr<To>> to_;
  std::vector<Flight> flights_;
};

}  // namespace cs::sim::structural

// The phases of a cycle (docs/timing.md §1) as four clocks of one period:
//
//   route    what has landed enters its lane; lanes ask, outputs are granted, winners depart
//   deliver  what went down a ramp enters its input queue
//   execute  cores issue instructions and execute element groups
//   commit   what became free or landed in the ramp is published for the next cycle
//
// Where a module writes a signal in one phase, others see it in the later phases and cycles. `cycle` counts; the host
// may set it back by the cycles in which nothing happened any more.
#pragma once

#include <algorithm>
#include <systemc>

#include "runtime/host/device.h"

namespace cs::sim::structural {

struct Clocks {
  static constexpr double kPeriodNs = 1;
  sc_core::sc_clock route{"route_clock", kPeriodNs, sc_core::SC_NS, 0.5, 0.1, sc_core::SC_NS};
  sc_core::sc_clock deliver{"deliver_clock", kPeriodNs, sc_core::SC_NS, 0.5, 0.3, sc_core::SC_NS};
  sc_core::sc_clock execute{"execute_clock", kPeriodNs, sc_core::SC_NS, 0.5, 0.5, sc_core::SC_NS};
  sc_core::sc_clock commit{"commit_clock", kPeriodNs, sc_core::SC_NS, 0.5, 0.7, sc_core::SC_NS};
  Cycle cycle = 0;
};

// Whether a module did anything in this cycle, and up to when something is still due by time alone. Where nobody did
// anything and nothing is due, nothing can happen any more.
struct Activity {
  bool acted = false;
  Cycle due = 0;
  Cycle works_until = 0;  // an element group of several cycles: the one behind its last
  void act() { acted = true; }
  void work_until(Cycle end) { works_until = std::max(works_until, end); }
  void wait_until(Cycle at) {
    if (at != kNever && at > due) due = at;
  }
};

}  // namespace cs::sim::structural

// WaferClock: cycles of the wafer as SystemC time.
//
// Edge c is the time at which cycle c begins. It is rounded from c * period each time, so that a period which
// is no multiple of the time resolution (850 MHz: 1176.47 ps) does not drift.
#pragma once

#include <cmath>
#include <systemc>

#include "runtime/host/device.h"

namespace cs::sim {

class WaferClock {
 public:
  // `period`: of one cycle, in picoseconds.
  explicit WaferClock(double period_ps)
      : units_(period_ps * 1e-12 / sc_core::sc_get_time_resolution().to_seconds()) {}

  sc_core::sc_time time_of(Cycle edge) const {
    return sc_core::sc_time::from_value(sc_dt::uint64(std::llround(double(edge) * units_)));
  }
  sc_core::sc_time period() const { return time_of(1); }
  // The first edge at this time or after it.
  Cycle edge_at(const sc_core::sc_time& t) const {
    const auto near = Cycle(std::llround(double(t.value()) / units_));
    return time_of(near) < t ? near + 1 : near;
  }
  // The first edge after this time.
  Cycle edge_after(const sc_core::sc_time& t) const {
    const Cycle edge = edge_at(t);
    return time_of(edge) == t ? edge + 1 : edge;
  }

 private:
  double units_;  // of SystemC's time resolution, per cycle
};

}  // namespace cs::sim

// Rates of the machine file, converted with its clock.
#include "runtime/host/copy_costs.h"

#include <cmath>

namespace cs {

Cycle whole_cycles(const Machine& m, double seconds) {
  return Cycle(std::ceil(seconds * m.clock_mhz * 1e6 - 1e-6));
}

Cycle copy_cycles(const Machine& m, uint64_t words) {
  return Cycle(m.memcpy.command_cycles) +
         whole_cycles(m, double(words) * kWordBytes / (m.host.link_gb_per_s * 1e9));
}

Cycle clone_cycles(const Machine& m, uint64_t bytes) {
  const double read_and_written = 2 * double(bytes);
  return whole_cycles(m, m.host.host_op_us * 1e-6 + read_and_written / (m.host.host_gb_per_s * 1e9));
}

}  // namespace cs

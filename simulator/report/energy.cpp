// Counts times the machine's picojoules.
#include "simulator/report/energy.h"

namespace cs::sim {

Energy energy_of(const EnergyCounters& c, const Machine::Energy& m) {
  constexpr double kMicro = 1e-6;  // pJ -> uJ
  Energy e;
  e.hops = kMicro * double(c.hops) * m.hop_pj;
  e.memory = kMicro * double(c.memory_bytes) * m.memory_pj_per_byte;
  e.operations = kMicro * (double(c.flops - c.half_flops) * m.fp32_pj + double(c.half_flops) * m.fp16_pj);
  e.instructions = kMicro * double(c.instructions) * m.instruction_pj;
  e.idle = kMicro * c.pe_cycles * m.idle_pj_per_cycle;
  return e;
}

}  // namespace cs::sim

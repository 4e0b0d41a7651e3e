// Rates of silicon: how many cycles more than in the vendor's simulator an element group takes, when the machine's
// `calibration.silicon_calibration` is on (docs/timing.md section 6).
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/isa/isa.h"
#include "runtime/machine/machine.h"

namespace cs::isa {

// Cycles beyond those of the group, in 1/65536 of a cycle. `fabric`: an operand is on the fabric, so that a group is
// one wavelet.
inline uint32_t silicon_drag(const Machine& m, Op op, uint32_t group_cycles, bool fabric) {
  const auto& c = m.calibration;
  if (!c.silicon_calibration) return 0;
  const bool moves = op == Op::fmovh || op == Op::fmovs || op == Op::mov16 || op == Op::mov32;
  const Row& r = row(op);
  const bool half = r.cost == Cost::fp && r.type == Type::f16;
  double factor = 1;
  if (fabric)
    factor = c.wavelet_cycles;
  else if (moves)
    factor = 1 / c.move_rate_factor;
  else if (half)
    factor = 1 / c.fp16_rate_factor;
  return factor > 1 ? uint32_t(std::lround((factor - 1) * group_cycles * 65536.0)) : 0;
}

}  // namespace cs::isa

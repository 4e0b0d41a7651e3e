// How an operand in memory walks: with a stride, round a ring, or through up to four dimensions, innermost last, where
// a step of one resets those inside.
#include "simulator/systemc/structural/operation.h"

namespace cs::sim::structural {

void Operand::advance() {
  if (dsd.kind == isa::DsdKind::mem1d) {
    address = (address + step()) & 0xFFFF;
    return;
  }
  if (dsd.kind == isa::DsdKind::circbuf) {
    address += step();
    if (address >= int32_t(dsd.end)) address -= int32_t(dsd.end - dsd.first);
    return;
  }
  for (size_t k = 4; k-- > 0;) {
    if (++at[k] < dsd.extent[k]) {
      address = (address + dsd.stride[k] * bytes) & 0xFFFF;
      return;
    }
    at[k] = 0;
  }
}

}  // namespace cs::sim::structural

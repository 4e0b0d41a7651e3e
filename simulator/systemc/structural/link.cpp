// In the commit phase what departed enters the first register, and what comes out of the last one is at the far end
// from the next cycle on.
#include "simulator/systemc/structural/link.h"

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Link::Link(sc_core::sc_module_name name, Clocks& clocks, int hop_cycles)
    : sc_module(name), stages_(size_t(hop_cycles) - 1) {
  SC_METHOD(shift);
  sensitive << clocks.commit.posedge_event();
  dont_initialize();
}

void Link::shift() {
  Wavelet w = in.read();
  for (Wavelet& stage : stages_) std::swap(w, stage);
  if (w.valid || out.read().valid) out.write(w);
  bool busy = w.valid;
  for (const Wavelet& stage : stages_) busy |= stage.valid;
  if (busy) activity.act();
}

}  // namespace cs::sim::structural

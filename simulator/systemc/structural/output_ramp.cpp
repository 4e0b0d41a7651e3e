// A wavelet lands up_cycles after the cycle of its element, behind what the core has sent on the color before, in the
// next cycle in which nothing else of this core lands.
#include "simulator/systemc/structural/output_ramp.h"

#include <algorithm>
#include <bit>

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
OutputRamp::OutputRamp(sc_core::sc_module_name name, Clocks& clocks, const Machine& m, Router& router)
    : sc_module(name),
      clocks_(clocks),
      machine_(m),
      router_(router),
      stored_(widths::kColors),
      last_lands_(widths::kColors) {
  SC_METHOD(commit);
  sensitive << clocks.commit.posedge_event();
  dont_initialize();
}

void OutputRamp::send(const Wavelet& w, int late) {
  Cycle lands = clocks_.cycle + 1 + Cycle(machine_.ramp.up_cycles) + Cycle(late);
  const bool one_per_cycle = machine_.ramp.wavelets_per_cycle == 1;
  lands = std::max(lands, last_lands_[w.color] + Cycle(one_per_cycle));
  const auto taken = [&] {
    return std::any_of(rising_.begin(), rising_.end(), [&](const Rising& r) { return r.lands == lands; });
  };
  while (one_per_cycle && taken()) ++lands;
  last_lands_[w.color] = lands;
  ++stored_[w.color];
  rising_.push_back({w, lands});
  activity.wait_until(lands);
}

bool OutputRamp::all_landed(int color) const {
  return std::none_of(rising_.begin(), rising_.end(), [&](const Rising& r) { return r.wavelet.color == color; });
}

void OutputRamp::commit() {
  for (uint32_t rest = router_.ramp_freed.read(); rest != 0; rest &= rest - 1)
    if (int& stored = stored_[size_t(std::countr_zero(rest))]; stored > 0) --stored;
  Wavelets landing;
  for (const Rising& r : rising_)
    if (r.lands == clocks_.cycle + 1) landing.add(r.wavelet);
  std::erase_if(rising_, [&](const Rising& r) { return r.lands == clocks_.cycle + 1; });
  if (!(router_.from_core.read() == landing)) router_.from_core.write(landing);
}

}  // namespace cs::sim::structural

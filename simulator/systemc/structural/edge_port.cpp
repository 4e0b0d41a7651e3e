// Into the fabric: in the route phase, with credits as between routers. Out of it: what departs is the host's at once;
// room for the next cycle is published in the commit phase.
#include "simulator/systemc/structural/edge_port.h"

#include <bit>

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
EdgePort::EdgePort(sc_core::sc_module_name name, Clocks& clocks, const Machine& m)
    : sc_module(name),
      clocks_(clocks),
      machine_(m),
      in_("in", clocks, m.router.hop_cycles),
      out_("out", clocks, m.router.hop_cycles) {
  SC_METHOD(enter);
  sensitive << clocks.route.posedge_event();
  dont_initialize();
  SC_METHOD(leave);
  sensitive << clocks.commit.posedge_event();
  dont_initialize();
}

HostInput& EdgePort::add_input(int color, double period) {
  if (inputs_.empty()) in_rate_.period = period;
  inputs_.push_back(std::make_unique<HostInput>());
  inputs_.back()->color = color;
  return *inputs_.back();
}

HostOutput& EdgePort::add_output(int color, double period) {
  if (outputs_.empty()) out_rate_.period = period;
  outputs_.push_back(std::make_unique<HostOutput>());
  outputs_.back()->color = color;
  room.write(room.read() | 1u << color);
  return *outputs_.back();
}

// The next one behind that which sent last, of those that can.
void EdgePort::enter() {
  const Cycle now = clocks_.cycle;
  const uint32_t credit = in_.credit.read();
  size_t best = SIZE_MAX;
  for (size_t k = 1; k <= inputs_.size(); ++k) {
    const size_t i = last_ == SIZE_MAX ? k - 1 : (last_ + k) % inputs_.size();
    HostInput& input = *inputs_[i];
    if (credit >> input.color & 1) --input.taken;
    if (!input.pending()) continue;
    activity.wait_until(std::max(input.not_before(), in_rate_.free_at()));
    const bool can = input.not_before() <= now && in_rate_.free(now) &&
                     input.taken < machine_.router.lane_depth_wavelets;
    if (can && best == SIZE_MAX) best = i;
  }
  Wavelet w;
  if (best != SIZE_MAX) {
    w = inputs_[best]->take(now);
    ++inputs_[best]->taken;
    in_rate_.use(now);
    last_ = best;
    activity.act();
  }
  if (!(in_.in.read() == w)) in_.in.write(w);
}

void EdgePort::leave() {
  const Cycle now = clocks_.cycle;
  const Wavelet w = out_.in.read();
  if (w.valid) {
    out_rate_.use(now);
    activity.act();
    // A control wavelet ends here: its commands were for the routers on the way.
    for (auto& output : outputs_)
      if (output->color == w.color && !w.control)
        output->received.push_back({w.data, now + Cycle(machine_.router.hop_cycles), false});
  }
  uint32_t open = 0;
  for (const auto& output : outputs_)
    if (output->received.size() < output->limit && out_rate_.free(now + 1)) open |= 1u << output->color;
  if (!outputs_.empty()) activity.wait_until(out_rate_.free_at());
  if (room.read() != open) room.write(open);
}

}  // namespace cs::sim::structural

// Each stream of a PE has its own turns.
#include "simulator/systemc/structural/ramp_streams.h"

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
RampStreams::RampStreams(sc_core::sc_module_name name, Clocks& clocks, const Machine& m, Router& router)
    : sc_module(name), clocks_(clocks), machine_(m), router_(router) {
  SC_METHOD(enter);
  sensitive << clocks.route.posedge_event();
  dont_initialize();
  SC_METHOD(commit);
  sensitive << clocks.commit.posedge_event();
  dont_initialize();
}

void RampStreams::add_input(int color) {
  from_.push_back(std::make_unique<From>());
  from_.back()->input.color = color;
}

void RampStreams::add_output(int color) {
  to_.push_back(std::make_unique<To>());
  to_.back()->output.color = color;
  to_.back()->output.limit = 0;
  router_.set_to_host(color);
}

HostInput* RampStreams::input(int color) {
  for (auto& f : from_)
    if (f->input.color == color) return &f->input;
  return nullptr;
}

HostOutput* RampStreams::output(int color) {
  for (auto& t : to_)
    if (t->output.color == color) return &t->output;
  return nullptr;
}

void RampStreams::set_turns(int color, double period, double first_turn) {
  const auto set = [&](HostRate& rate) {
    rate.period = period;
    rate.next_free = std::max(rate.next_free, first_turn);
  };
  for (auto& f : from_)
    if (f->input.color == color) set(f->rate);
  for (auto& t : to_)
    if (t->output.color == color) set(t->rate);
}

size_t RampStreams::words_pending() const {
  size_t n = 0;
  for (const auto& f : from_) n += f->input.words_left();
  for (const auto& t : to_) n += t->output.limit - t->output.received.size();
  return n;
}

void RampStreams::enter() {
  const Cycle now = clocks_.cycle;
  const uint32_t freed = router_.ramp_freed.read();
  for (auto& f : from_) {
    HostInput& input = f->input;
    if (freed >> input.color & 1) --input.taken;
    if (!input.pending()) continue;
    activity.wait_until(std::max(input.not_before(), f->rate.free_at()));
    if (input.not_before() > now || !f->rate.free(now)) continue;
    if (input.taken >= machine_.router.lane_depth_wavelets) continue;
    flights_.push_back({input.take(now), now + Cycle(machine_.router.hop_cycles)});
    ++input.taken;
    f->rate.use(now);
    activity.act();
    activity.wait_until(flights_.back().lands);
  }
}

void RampStreams::commit() {
  const Cycle now = clocks_.cycle;
  Wavelets landing;
  for (const Flight& f : flights_)
    if (f.lands == now + 1) landing.add(f.wavelet);
  std::erase_if(flights_, [&](const Flight& f) { return f.lands == now + 1; });
  if (!(router_.from_host.read() == landing)) router_.from_host.write(landing);
  for (const Wavelet& w : router_.to_host.read())
    for (auto& t : to_) {
      if (t->output.color != w.color) continue;
      t->rate.use(now);
      activity.act();
      if (!w.control) t->output.received.push_back({w.data, now + Cycle(machine_.ramp.down_cycles), false});
    }
  publish(now + 1);
}

// Room as the router sees it in that cycle.
void RampStreams::publish(Cycle cycle) {
  uint32_t open = 0;
  for (const auto& t : to_) {
    if (t->output.received.size() >= t->output.limit) continue;
    if (t->rate.free(cycle)) open |= 1u << t->output.color;
    activity.wait_until(t->rate.free_at());
  }
  if (router_.stream_room.read() != open) router_.stream_room.write(open);
}

}  // namespace cs::sim::structural

// One cycle of a router: land, ask, grant, depart.
#include "simulator/systemc/structural/router.h"

#include <bit>

namespace cs::sim::structural {
namespace {

constexpr PortSet kRamp = port_bit(Port::ramp);
constexpr PortSet kAllPorts = 31;
constexpr const char* kPortNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};

template <class T>
void write_changed(sc_core::sc_signal<T>& signal, const T& value) {
  if (!(signal.read() == value)) signal.write(value);
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Router::Router(sc_core::sc_module_name name, Clocks& clocks, const Machine& m, Coord at, Rect user, Observer& observer)
    : sc_module(name),
      clocks_(clocks),
      machine_(m),
      at_(at),
      user_(user),
      observer_(observer),
      arbiter_(m.ramp.wavelets_per_cycle) {
  const size_t colors = widths::kColors;
  switches_.resize(colors);
  filters_.resize(colors);
  message_inputs_.resize(colors);
  for (auto& inputs : message_inputs_) inputs.fill(-1);
  for (auto& lanes : lanes_) lanes.resize(colors);
  for (auto& taken : taken_) taken.resize(colors);
  queue_room.write(~0u);
  SC_METHOD(route);
  sensitive << clocks.route.posedge_event();
  dont_initialize();
}

void Router::add_color(int color, const RouteConfig& c) {
  colors_ |= 1u << color;
  switches_[size_t(color)] =
      ColorSwitch(c, machine_.router.switch_advance_cycles, machine_.router.switch_positions);
  filters_[size_t(color)] = Filter(c.filter);
  if (switches_[size_t(color)].all_rx() & kRamp) core_lanes_ |= 1u << color;
}

void Router::open_color(int color) {
  if (!has_color(color)) add_color(color, {});
  core_lanes_ |= 1u << color;
}

Filter* Router::filter(int number) {
  for (Filter& f : filters_)
    if (f.exists() && number-- == 0) return &f;
  return nullptr;
}

void Router::route() {
  departing_ = {};
  credits_ = {};
  down_ = host_ = {};
  freed_ = torn_ = 0;
  land();
  take_credits();
  if (held_ > 0)
    for (const Request& winner : arbiter_.grant(ask())) depart(winner);
  write_signals();
}

// ---- arrive

void Router::land() {
  for (int p = 0; p < 4; ++p)
    if (in_[size_t(p)] && in_[size_t(p)]->out.read().valid) land(Port(p), in_[size_t(p)]->out.read());
  for (const Wavelet& w : from_core.read()) land(Port::ramp, w);
  for (const Wavelet& w : from_host.read()) land(Port::ramp, w);
}

void Router::land(Port p, const Wavelet& w) {
  Landed landed{w, w.color};
  if (switches_[w.color].swaps(p)) landed.wavelet.color ^= 1;
  lane(p, landed.wavelet.color).held.push_back(landed);
  ++held_;
  activity.act();
}

void Router::take_credits() {
  for (size_t p = 0; p < 4; ++p) {
    if (out_[p] == nullptr) continue;
    for (uint32_t rest = out_[p]->credit.read(); rest != 0; rest &= rest - 1)
      --taken_[p][size_t(std::countr_zero(rest))];
  }
}

// ---- route

std::vector<Request> Router::ask() {
  std::vector<Request> asking;
  for (uint32_t rest = colors_; rest != 0; rest &= rest - 1) {
    const int color = std::countr_zero(rest);
    for (int p = 0; p < kPorts; ++p) {
      PortSet tx = 0;
      if (!lane(Port(p), color).held.empty() && asks(Port(p), color, tx))
        asking.push_back({Port(p), uint8_t(color), tx});
    }
  }
  return asking;
}

bool Router::asks(Port p, int color, PortSet& tx) {
  const ColorSwitch& s = switches_[size_t(color)];
  if (!(s.rx(clocks_.cycle) & port_bit(p))) {
    activity.wait_until(s.closed_until());
    return false;
  }
  const Wavelet& w = lane(p, color).held.front().wavelet;
  if (s.messages()) {
    tx = message_output(lane(p, color), color);
    return tx != 0 && has_room(w, tx);
  }
  check_conflict(p, color);
  tx = s.tx() & kAllPorts;
  if (w.control && ControlWord{w.data}.ignored()) tx &= PortSet(~kRamp);
  return has_room(w, tx);
}

// Of all outputs, as of the start of the cycle.
bool Router::has_room(const Wavelet& w, PortSet tx) const {
  for (size_t p = 0; p < 4; ++p) {
    if (!(tx >> p & 1)) continue;
    if (edge_room_[p] != nullptr) {
      if (!(edge_room_[p]->read() >> w.color & 1)) return false;
    } else if (!(far_colors_[p] >> w.color & 1) || taken_[p][w.color] >= machine_.router.lane_depth_wavelets) {
      return false;
    }
  }
  return !(tx & kRamp) || ramp_has_room(w);
}

// A wavelet that the filter rejects needs no room.
bool Router::ramp_has_room(const Wavelet& w) const {
  if (to_host_colors_ >> w.color & 1) return stream_room.read() >> w.color & 1;
  return filters_[w.color].rejects(w) || (queue_room.read() >> w.color & 1);
}

void Router::check_conflict(Port p, int color) {
  const PortSet rx = switches_[size_t(color)].rx(clocks_.cycle);
  for (int other = 0; other < int(p); ++other) {
    if (!(rx >> other & 1) || lane(Port(other), color).held.empty()) continue;
    observer_.faulted({"colour-conflict",
                       "wavelets of color " + std::to_string(color) + " arrived from " + kPortNames[other] + " and " +
                           kPortNames[int(p)] + " at the same time, and the current position accepts both",
                       clocks_.cycle, at_});
  }
}

void Router::depart(const Request& r) {
  Lane& from = lane(r.input, r.color);
  const Landed landed = from.held.front();
  const Wavelet w = landed.wavelet;
  const ColorSwitch& s = switches_[r.color];
  observer_.departs({at_, clocks_.cycle, w, r.input, r.outputs});
  activity.act();
  if (s.messages()) follow_message(r.input, r.color, w.data, r.outputs);
  from.held.pop_front();
  --held_;
  if (r.input == Port::ramp)
    freed_ |= 1u << r.color;
  else
    credits_[size_t(r.input)] |= 1u << landed.arrived_as;

  Wavelet onward = w;
  onward.advance = false;
  if (w.control) onward.data = s.onward({w.data});
  for (size_t p = 0; p < 4; ++p) {
    if (!(r.outputs >> p & 1)) continue;
    departing_[p] = onward;
    if (edge_room_[p] == nullptr) ++taken_[p][w.color];
  }
  if (r.outputs & kRamp) deliver(w);
  run_commands(w);
}

// The core gets the payload as it arrived here.
void Router::deliver(const Wavelet& w) {
  if (to_host_colors_ >> w.color & 1) {
    host_.add(w);
    return;
  }
  Filter& f = filters_[w.color];
  const bool rejected = f.rejects(w);
  f.count(w);
  if (rejected) return;
  down_.add(w);
  down_.all[down_.count - 1u].message = switches_[w.color].messages();
}

void Router::run_commands(const Wavelet& w) {
  ColorSwitch& s = switches_[w.color];
  if (w.control && s.run(ControlWord{w.data}.first(), clocks_.cycle)) torn_ |= 1u << w.color;
  if (w.advance) s.advance(clocks_.cycle);
  activity.wait_until(s.closed_until());
}

void Router::write_signals() {
  for (size_t p = 0; p < 4; ++p) {
    if (out_[p]) write_changed(out_[p]->in, departing_[p]);
    if (in_[p]) write_changed(in_[p]->credit, credits_[p]);
  }
  write_changed(to_core, down_);
  write_changed(to_host, host_);
  write_changed(ramp_freed, freed_);
  write_changed(torn_down, torn_);
}

}  // namespace cs::sim::structural

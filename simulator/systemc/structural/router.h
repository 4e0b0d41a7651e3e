// Router: lanes, switches, arbitration and links of one PE (docs/timing.md §2 to §4).
//
//   lane    one color at one input: what has landed there and not departed
//   credit  by output and color: how much of the lane at the far end is taken, flight included. What a lane loses in
//           cycle t is free for the sender from t + 1 on, since `Link::credit` is a signal.
#pragma once

#include <deque>
#include <vector>

#include "runtime/machine/machine.h"
#include "simulator/systemc/structural/arbiter.h"
#include "simulator/systemc/structural/color_switch.h"
#include "simulator/systemc/structural/filter.h"
#include "simulator/systemc/structural/link.h"
#include "simulator/systemc/structural/observer.h"

namespace cs::sim::structural {

class Router : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Router);
  Router(sc_core::sc_module_name, Clocks&, const Machine&, Coord at, Rect user, Observer&);

  // ---- elaboration
  void add_color(int color, const RouteConfig&);
  void open_color(int color);  // the PE's program may change its routes: all its lanes are there
  bool has_color(int color) const { return colors_ >> color & 1; }
  void connect_in(Port p, Link* l) { in_[size_t(p)] = l; }
  void connect_out(Port p, Link* l) { out_[size_t(p)] = l; }
  // Colors that the far end of a link has a lane for; without one nothing departs.
  void set_far_colors(Port out, uint32_t colors) { far_colors_[size_t(out)] = colors; }
  // An edge: room there is what the host says, instead of credits.
  void set_edge(Port out, sc_core::sc_signal<uint32_t>* room) { edge_room_[size_t(out)] = room; }
  void set_to_host(int color) { to_host_colors_ |= 1u << color; }

  // ---- signals of the ramp
  sc_core::sc_signal<Wavelets> from_core{"from_core"}, from_host{"from_host"};  // land in this cycle
  sc_core::sc_signal<Wavelets> to_core{"to_core"}, to_host{"to_host"};          // depart in this cycle
  sc_core::sc_signal<uint32_t> queue_room{"queue_room"};    // a bit per color
  sc_core::sc_signal<uint32_t> stream_room{"stream_room"};  // of host streams
  sc_core::sc_signal<uint32_t> ramp_freed{"ramp_freed"};    // colors whose ramp lane lost a wavelet in this cycle
  sc_core::sc_signal<uint32_t> torn_down{"torn_down"};      // colors that go into teardown in this cycle

  // ---- registers, for the core
  ColorSwitch& color(int c) { return switches_[size_t(c)]; }
  const ColorSwitch& color(int c) const { return switches_[size_t(c)]; }
  Filter* filter(int number);  // numbered by color
  bool has_core_lane(int color) const { return core_lanes_ >> color & 1; }
  size_t waiting(Port input, int color) const { return lane(input, color).held.size(); }

  Activity activity;

 private:
  struct Landed {
    Wavelet wavelet;
    uint8_t arrived_as = 0;  // the color before a swap: the one whose credit it has
  };
  struct Lane {
    std::deque<Landed> held;
    // Of a color that routes messages: where the message at hand goes, -1: a header is next; wavelets to come.
    int message_output = -1, message_left = 0;
  };
  Lane& lane(Port p, int color) { return lanes_[size_t(p)][size_t(color)]; }
  const Lane& lane(Port p, int color) const { return lanes_[size_t(p)][size_t(color)]; }

  void route();
  void land();
  void land(Port, const Wavelet&);
  void take_credits();
  std::vector<Request> ask();
  bool asks(Port, int color, PortSet& tx);
  bool has_room(const Wavelet&, PortSet tx) const;
  bool ramp_has_room(const Wavelet&) const;
  void check_conflict(Port, int color);
  void depart(const Request&);
  void deliver(const Wavelet&);
  void run_commands(const Wavelet&);
  PortSet message_output(const Lane&, int color) const;  // router_messages.cpp
  void follow_message(Port, int color, uint32_t word, PortSet to);
  void write_signals();

  Clocks& clocks_;
  const Machine& machine_;
  Coord at_;
  Rect user_;
  Observer& observer_;
  Arbiter arbiter_;
  uint32_t colors_ = 0, core_lanes_ = 0, to_host_colors_ = 0;
  std::vector<ColorSwitch> switches_;
  std::vector<Filter> filters_;
  std::array<std::vector<Lane>, kPorts> lanes_;
  size_t held_ = 0;  // wavelets in all lanes
  std::vector<std::array<int, kPorts>> message_inputs_;  // by color and output: the input it is busy with, -1: none
  std::array<Link*, 4> in_{}, out_{};
  std::array<uint32_t, 4> far_colors_{};
  std::array<sc_core::sc_signal<uint32_t>*, 4> edge_room_{};
  std::array<std::vector<int>, 4> taken_;  // by output and color
  // What this cycle writes.
  std::array<Wavelet, 4> departing_{};
  std::array<uint32_t, 4> credits_{};
  Wavelets down_, host_;
  uint32_t freed_ = 0, torn_ = 0;
};

}  // namespace cs::sim::structural

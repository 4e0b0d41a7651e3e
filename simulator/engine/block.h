// Block: a rectangle of PEs that is stepped as one unit, with everything it owns.
//
// step(now) does one cycle:
//   1. route    lanes whose oldest wavelet is due ask for their outputs (route.cpp); those that got them
//   depart
//   2. execute  cores that are due issue instructions and execute element groups (core*.cpp)
// A step changes the block alone. What leaves it lies in `out` until the engine hands it to the neighbours,
// which see it in the next cycle; so blocks may be stepped in any order or at the same time.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/support/geometry.h"
#include "simulator/engine/fabric.h"
#include "simulator/engine/pe.h"
#include "simulator/engine/wheel.h"
#include "simulator/engine/world.h"

namespace cs::sim {

// Operations at work. They lie where the last ones lay, and there are no more than were ever at work at once.
class OpPool {
 public:
  VectorOp* take() {
    if (free_.empty()) return &all_.emplace_back();
    VectorOp* op = free_.back();
    free_.pop_back();
    return op;
  }
  void give(VectorOp*& op) {
    free_.push_back(op);
    op = nullptr;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const VectorOp& op : all_) f(op);
  }

 private:
  std::deque<VectorOp> all_;
  std::vector<VectorOp*> free_;
};

// Ways back of cores that have run ahead while the host may stop the run (core_ahead.cpp). A block has few: a way is
// free again when time has come as far as its core, and a core that gets none goes on cycle by cycle.
class WaysBack {
 public:
  explicit WaysBack(size_t pes) : most_(std::max<size_t>(16, pes / 32)) {}
  // `owner` may have one: its own, a new one or one that is no longer needed.
  bool available(const Pe& owner, Cycle now);
  Ahead& take(Pe& owner, Cycle now);
  template <class F>
  void for_each(F&& f) const {
    for (const auto& way : all_) f(*way);
  }

 private:
  Ahead* find_free(Cycle now);
  size_t most_;
  Cycle none_before_ = 0;  // no way becomes free before this cycle
  std::vector<std::unique_ptr<Ahead>> all_;
};

// Rings of entries, as many as queues were ever made.
class RingPool {
 public:
  Entry* take(size_t entries);

 private:
  static constexpr size_t kChunk = 1024;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  size_t left_ = 0;
};

class Block {
 public:
  Block(World& world, Rect rect);

  Cycle next_event() const {
    return std::min(lane_wheel.next(), std::min(pe_wheel.next(), port_and_switch_next()));
  }
  void step(Cycle now);
  // From the engine, between cycles.
  void take_push(const Outbox::Push&, Cycle now);
  void take_credit(uint32_t mirror, Cycle now);

  uint32_t index_of(Coord c) const { return uint32_t((c.y - rect.y) * rect.w + (c.x - rect.x)); }
  Coord coord_of(uint32_t index) const {
    return {rect.x + int(index) % rect.w, rect.y + int(index) / rect.w};
  }

  // ---- PEs
  Pe& pe(uint32_t index);  // made when first needed
  Pe* find_pe(uint32_t index) { return pes[index].get(); }
  const Pe* find_pe(uint32_t index) const { return pes[index].get(); }
  void ensure_memory(Pe&);
  uint8_t add_queue(Pe&, InputQueue, int depth);  // its index
  void initial_memory(uint32_t index, PeMemory& out) const;
  void wake(Pe&, Cycle at);
  uint8_t resolve_queue(ColorNode&);  // input queue of the color, made if the color has none
  void set_queue(ColorNode&, uint8_t queue);

  // ---- fabric
  ColorNode* find_node(uint32_t pe_index, int color);
  const ColorNode* find_node(uint32_t pe_index, int color) const;
  uint32_t lane_of(const ColorNode&, Port) const;  // ~0u: no such lane
  const Entry& lane_front(const Lane& l) const {
    return l.capacity <= Lane::kInline ? l.ring[l.head] : entries[l.long_ring + l.head];
  }
  const Entry& lane_back(const Lane& l) const {
    const int at = (l.head + l.count - 1) % l.capacity;
    return l.capacity <= Lane::kInline ? l.ring[size_t(at)] : entries[l.long_ring + uint32_t(at)];
  }
  void push_lane(uint32_t lane, Entry entry, Cycle lands);
  void flush_counters(const ColorNode&);     // before tx changes
  uint64_t sent(uint32_t router, size_t port) const { return routers[router].sent[port] + carried_of(router)[port]; }
  uint64_t blocked(uint32_t router, size_t port) const {
    return routers[router].blocked[port] + carried_of(router)[kPorts + port];
  }
  void wake_node(uint32_t node, Cycle now);  // lanes that wait try again in the next cycle
  void raise(std::string name, Cycle, Coord, std::string message);
  const RouteConfig& config_of(const ColorNode& n) const {
    const auto& shared = world.program.routes;
    return n.config < shared.size() ? shared[n.config].config : own_routes[n.config - shared.size()].config;
  }
  // ---- what programs change (reconfigure.cpp)
  uint16_t read_color(uint32_t pe_index, int color, isa::ColorReg);
  bool write_color(uint32_t pe_index, int color, isa::ColorReg, uint16_t value, Cycle now);
  FilterState* find_filter(uint32_t pe_index, int number);
  // Counted and let pass (--allow)?
  bool let_pass(Allowable fault) {
    if (!(world.allowed >> int(fault) & 1)) return false;
    ++passed[size_t(fault)];
    return true;
  }

  World& world;
  Rect rect;
  // Of the PEs in here, by number of the launch; as far as anything was launched on them.
  std::vector<LaunchTally> launches;
  std::vector<Router> routers;
  std::vector<ColorNode> nodes;
  std::vector<Lane> lanes;
  std::vector<Entry> entries;
  std::vector<OwnRoute> own_routes;
  std::vector<FilterState> filters;
  std::vector<Mirror> mirrors;
  std::vector<PortState> ports;
  std::vector<PortLink> links;
  std::vector<std::unique_ptr<Pe>> pes;
  OpPool ops;
  WaysBack ways_back;
  RingPool rings;
  std::vector<int32_t> tile_of;     // by PE: index into World::tiles, -1: none
  std::vector<uint32_t> constants;  // indices into HostPart::constants that touch this block
  std::array<Outbox, 4> out;
  std::optional<Fault> fault;
  std::vector<PrintLine> printed;  // since the engine took them, maybe of cycles to come
  IndexWheel<8> lane_wheel;
  IndexWheel<16> pe_wheel;
  TimeWheel port_wheel, switch_wheel;
  uint64_t instructions = 0;
  size_t work = 0;  // lanes and cores looked at in the last step
  std::array<uint64_t, size_t(Allowable::count)> passed{};  // faults let pass
  size_t commands_waiting = 0, streams_not_ready = 0;
  size_t stream_words = 0;  // of host streams: asked for and not yet passed
  bool watch_fired = false;

 private:
  template <class A>
  friend class StateWalk;  // state_walk.h
  struct Candidate {
    uint32_t lane;
    PortSet tx;
    uint32_t next;  // in the list of a router with multicast: the one before, index + 1
  };
  // A router with contested outputs in this cycle.
  struct Contest {
    uint32_t router = 0;
    std::array<uint32_t, kPorts> best{};  // by output: the contested lane that is ahead, plus 1
    uint32_t list = 0;                    // with multicast instead: its candidates, index + 1 of the last one
  };
  Cycle port_and_switch_next() const { return std::min(port_wheel.next(), switch_wheel.next()); }

  void route(Cycle now);
  void prefetch_lane(std::span<const uint32_t> due, size_t i);
  void prefetch_core(std::span<const uint32_t> cores, size_t i) const;
  bool ask(Lane&, ColorNode&, Cycle now, PortSet& tx);
  bool go_straight(uint32_t lane, Lane&, Cycle now);
  void arrive(Lane&, uint32_t lane, Cycle lands);
  void count_sent(Router& r, size_t port, uint32_t n) {
    if ((r.sent[port] += n) < n) [[unlikely]] carry(r, port);
  }
  void count_blocked(Router& r, size_t port, uint32_t n) {
    if ((r.blocked[port] += n) < n) [[unlikely]] carry(r, kPorts + port);
  }
  void carry(const Router& r, size_t counter) {
    carried_[uint32_t(&r - routers.data())][counter] += uint64_t(1) << 32;
  }
  using Carried = std::array<uint64_t, 2 * kPorts>;
  const Carried& carried_of(uint32_t router) const {
    static constexpr Carried kNone{};
    const auto at = carried_.find(router);
    return at == carried_.end() ? kNone : at->second;
  }
  void contend(const Candidate&, Router&, Cycle now);
  bool room(const Lane&, ColorNode&, PortSet tx, Cycle now);
  bool room_at(ColorNode&, int port, Cycle now);
  bool room_at_port(uint32_t index, Cycle now);
  void deliver_to_host(PortState&, Entry, Cycle now, Cycle arrives);
  void claim(Router&, PortSet tx, Cycle now);
  void check_conflict(const ColorNode&, const Lane&, Cycle now);
  void arbitrate(Cycle now);
  void arbitrate_router(const Router&, std::vector<Candidate>&, Cycle now);
  void retry(uint32_t lane, Cycle now);
  void depart(uint32_t lane, PortSet tx, Cycle now);
  PortSet message_output(const Lane&, const ColorNode&) const;
  void follow_message(Lane&, ColorNode&, uint32_t word, size_t output, Cycle now);
  void depart_with_commands(Lane&, ColorNode&, Entry, PortSet tx, Cycle now);
  void free_entry(Lane&, uint32_t lane, Cycle now);
  void wake_upstream(Lane&, Cycle now);
  void deliver(ColorNode&, int port, Entry, Cycle now);
  void deliver_to_core(ColorNode&, Entry, Cycle now);
  OwnRoute& own_route(ColorNode&);
  bool filter_rejects(const ColorNode&, Entry) const;
  void count_filter(ColorNode&, Entry);
  void signal_teardown(const ColorNode&, Cycle now);
  uint32_t control_after(uint32_t node, uint32_t payload) const;
  void run_switch(uint32_t node, Entry entry, Cycle now);
  void move_switch(uint32_t node, int command, Cycle now);
  void apply_position(uint32_t node, Cycle now);
  void run_sources(Cycle now);
  void offer(uint32_t port, Cycle now);
  void push_sources(Cycle now);

  std::map<uint32_t, Carried> carried_;  // by router: what its counters have lost, sent and then blocked by port
  std::vector<Candidate> candidates_, contested_, group_;
  std::vector<Contest> contests_;
  std::vector<uint32_t> sources_;
  Cycle hop_ = 1;
  int ramp_rate_ = 1;
};

// ---- control wavelets (the payload's layout is in docs/timing.md §4)
struct ControlCommand {
  int opcode = 0;       // 0 nop, 1 advance, 2 reset, 3 teardown
  bool ignore = false;  // do not deliver to this PE's core
};
ControlCommand first_command(uint32_t payload);
uint32_t drop_command(uint32_t payload);
inline int control_entry(uint32_t payload) { return int(payload >> 16 & 63); }

}  // namespace cs::sim

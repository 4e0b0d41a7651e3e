// The route phase of a block: which wavelets leave their routers in this cycle.
//
//   1. ask        every due lane looks at its outputs as they were at the start of the cycle; lanes that
//   cannot leave
//                 are parked, and whoever frees what they wait for wakes them
//   2. depart     lanes whose outputs nobody else asked for leave at once
//   3. arbitrate  the others, router by router, by the rotating priority of each output
// Nothing moves before every lane has asked, so the order of lanes does not matter.

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/host/port_rates.h"
#include "simulator/engine/block.h"
#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

constexpr int kRampIndex = int(Port::ramp);

}  // namespace

// The game is memory latency: lanes, then their nodes, then what these lead to are asked for ahead of their
// turn.
inline void Block::prefetch_lane(std::span<const uint32_t> due, size_t i) {
  if (i + 8 < due.size()) __builtin_prefetch(&lanes[due[i + 8]]);
  if (i + 4 >= due.size()) return;
  const Lane& l = lanes[due[i + 4]];
  if (l.flags & Lane::straight)
    __builtin_prefetch(&lanes[l.next]);
  else
    __builtin_prefetch(&nodes[l.node]);
}

inline void Block::prefetch_core(std::span<const uint32_t> cores, size_t i) const {
  if (i + 7 < cores.size()) {
    const char* p = reinterpret_cast<const char*>(pes[cores[i + 7]].get());
    for (size_t line = 0; line < 7; ++line) __builtin_prefetch(p + 64 * line);
  }
  if (i + 3 >= cores.size()) return;
  const Pe& p = *pes[cores[i + 3]];
  __builtin_prefetch(p.inputs.data());
  __builtin_prefetch(p.memory.data());
  for (uint32_t rest = p.active; rest != 0; rest &= rest - 1) {
    const char* op = reinterpret_cast<const char*>(p.ops[size_t(std::countr_zero(rest))]);
    for (size_t line = 0; line < 3; ++line) __builtin_prefetch(op + 64 * line);
  }
}

void Block::route(Cycle now) {
  candidates_.clear();
  contested_.clear();
  const std::span<const uint32_t> due = lane_wheel.take(now);
  const int straight = world.wavelets ? 0 : Lane::straight;  // traced wavelets take the road that reports them
  for (size_t i = 0; i < due.size(); ++i) {
    prefetch_lane(due, i);
    const uint32_t id = due[i];
    Lane& l = lanes[id];
    l.flags &= uint8_t(~Lane::queued);
    if ((l.flags & straight) && go_straight(id, l, now)) continue;
    ColorNode& n = nodes[l.node];
    PortSet tx = 0;
    if (!ask(l, n, now, tx)) continue;
    if (n.alone)
      depart(id, tx, now);
    else {
      l.flags |= Lane::asking;
      candidates_.push_back({id, tx, 0});
    }
  }
  run_sources(now);
  for (const Candidate& c : candidates_) {
    Router& r = routers[nodes[lanes[c.lane].node].pe];
    if (r.contested & c.tx)
      contend(c, r, now);
    else
      depart(c.lane, c.tx, now);
  }
  if (!contests_.empty()) arbitrate(now);
  push_sources(now);
}

// The common case in a few instructions: a data wavelet with nothing to arbitrate and one way to go. False if
// it is not that case; nothing has changed then.
inline bool Block::go_straight(uint32_t id, Lane& l, Cycle now) {
  Lane& next = lanes[l.next];
  const Entry e = l.ring[l.head];
  if (next.count + (next.last_pop == uint32_t(now)) >= next.capacity) return false;
  if ((e & (kEntryControl | kEntryAdvance)) || l.moved == ~0u) return false;
  if (uint32_t waited = uint32_t(now) - l.head_since; waited != 0) {
    const ColorNode& n = nodes[l.node];
    count_blocked(routers[n.pe], size_t(std::countr_zero(n.tx)), waited);
  }
  ++l.moved;
  const uint32_t to = l.next;
  free_entry(l, id, now);
  const Cycle lands = now + hop_;
  int at = next.head + next.count;
  if (at >= next.capacity) at -= next.capacity;
  next.ring[size_t(at)] = make_entry(entry_data(e), 0, lands);
  if (next.count++ == 0) arrive(next, to, lands);
  return true;
}

// The lane was empty: what lands now is its oldest wavelet.
inline void Block::arrive(Lane& l, uint32_t id, Cycle lands) {
  l.head_since = uint32_t(lands);
  l.flags |= Lane::queued;
  lane_wheel.push(lands, id);
}

void Block::step(Cycle now) {
  for (uint32_t node : switch_wheel.take(now)) apply_position(node, now - 1);
  route(now);
  const std::span<const uint32_t> cores = pe_wheel.take(now);
  work = candidates_.size() + cores.size();
  for (size_t i = 0; i < cores.size(); ++i) {
    prefetch_core(cores, i);
    Pe& p = *pes[cores[i]];
    if (p.wake != now) continue;
    p.wake = kNever;
    run_core(*this, p, now);
  }
}

inline bool Block::ask(Lane& l, ColorNode& n, Cycle now, PortSet& tx) {
  const PortSet self = port_bit(l.port);
  if (!(n.rx & self)) return false;
  if (n.messages) [[unlikely]] {
    tx = message_output(l, n);
    if (tx == 0 || !room(l, n, tx, now)) return false;
    claim(routers[n.pe], tx, now);
    return true;
  }
  if ((n.rx & n.inputs) != self) check_conflict(n, l, now);
  tx = n.tx;
  const Entry e = lane_front(l);
  if ((e & kEntryControl) && first_command(entry_data(e)).ignore) tx &= PortSet(~port_bit(Port::ramp));
  if (!room(l, n, tx, now)) return false;
  if (!n.alone) claim(routers[n.pe], tx, now);
  return true;
}

inline void Block::claim(Router& r, PortSet tx, Cycle now) {
  if (r.claim_cycle != uint32_t(now)) {
    r.claim_cycle = uint32_t(now);
    r.claimed = tx;
    r.contested = 0;
    r.ramp_claims = tx >> kRampIndex & 1;
    r.multicast = (tx & (tx - 1)) != 0;
    return;
  }
  r.contested |= r.claimed & tx;
  r.claimed |= tx;
  r.multicast |= (tx & (tx - 1)) != 0;
  if (ramp_rate_ == 1 || !(tx >> kRampIndex & 1)) return;
  // A ramp that takes several wavelets has rivals only beyond its rate, and then several of them win.
  if (++r.ramp_claims > ramp_rate_)
    r.multicast = true;
  else
    r.contested &= PortSet(~port_bit(Port::ramp));
}

// Room in all outputs at the start of the cycle. If one has none, whoever makes some will wake the lanes of
// the node.
inline bool Block::room(const Lane& l, ColorNode& n, PortSet tx, Cycle now) {
  for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1)) {
    int port = std::countr_zero(rest);
    if (port != kRampIndex && ref_kind(n.down[size_t(port)]) == RefKind::lane) {
      Lane& next = lanes[ref_index(n.down[size_t(port)])];
      if (next.count + (next.last_pop == uint32_t(now)) < next.capacity) continue;
      if (next.count < next.capacity) {
        retry(uint32_t(&l - lanes.data()), now);  // freed in this very cycle: room in the next
        return false;
      }
      next.flags |= Lane::waiter;
      return false;
    }
    if (port == kRampIndex && n.filter != 0 && filter_rejects(n, lane_front(l))) continue;
    if (!room_at(n, port, now)) return false;
  }
  return true;
}

bool Block::room_at(ColorNode& n, int port, Cycle now) {
  if (port == kRampIndex && n.stream == StreamEnd::to_host)
    return n.stream_port != 0 && room_at_port(n.stream_port - 1, now);
  if (port == kRampIndex) {
    if (n.queue == 0xFF) [[unlikely]] resolve_queue(n);
    InputQueue& q = *n.in;
    if (!q.full()) return true;
    q.lane_waits = true;
    return false;
  }
  Ref ref = n.down[size_t(port)];
  uint32_t index = ref_index(ref);
  if (ref_kind(ref) == RefKind::mirror) {
    Mirror& m = mirrors[index];
    if (m.count < m.depth) return true;
    m.waiter = true;
    return false;
  }
  return ref_kind(ref) == RefKind::port && room_at_port(index, now);
}

// A sink takes a wavelet per period, and none that the host has not asked for.
bool Block::room_at_port(uint32_t index, Cycle now) {
  PortState& p = ports[index];
  if (p.received.size() >= p.limit) return false;
  const double next_free = links[p.link].next_free;
  if (next_free <= double(now)) return true;
  p.waits_for_room = true;
  port_wheel.push(std::max(now, Cycle(std::ceil(next_free)) - 1), index);
  return false;
}

// Two inputs of one color that are open at the same time and both hold wavelets.
void Block::check_conflict(const ColorNode& n, const Lane& self, Cycle now) {
  uint32_t lane = n.first_lane;
  for (PortSet rest = n.inputs; rest != 0; rest &= PortSet(rest - 1), ++lane) {
    const Lane& other = lanes[lane];
    if (&other == &self || other.count == 0 || !(n.rx & port_bit(other.port))) continue;
    if (entry_wait(lane_front(other), now) != 0) continue;
    if (let_pass(Allowable::colour_conflict)) return;
    static constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
    raise("colour-conflict", now, coord_of(n.pe),
          "wavelets of color " + std::to_string(n.color) + " arrived from " + kNames[int(self.port)] +
              " and " + kNames[int(other.port)] + " at the same time, and the current position accepts both");
    return;
  }
}

void Block::retry(uint32_t id, Cycle now) {
  Lane& l = lanes[id];
  l.flags = uint8_t((l.flags & ~Lane::asking) | Lane::queued);
  lane_wheel.push(now + 1, id);
}

void Block::depart(uint32_t id, PortSet tx, Cycle now) {
  Lane& l = lanes[id];
  ColorNode& n = nodes[l.node];
  const Entry e = lane_front(l);
  const uint32_t waited = uint32_t(now) - l.head_since;
  Router& r = routers[n.pe];
  if ((tx & (tx - 1)) == 0 && tx != 0 && !(e & (kEntryControl | kEntryAdvance)) && !world.wavelets &&
      l.moved != ~0u && !n.messages) {
    const int p = std::countr_zero(tx);
    count_blocked(r, size_t(p), waited);
    r.last[size_t(p)] = lane_key(l);
    ++l.moved;
    free_entry(l, id, now);
    if (p == kRampIndex)
      deliver_to_core(n, e, now);
    else
      deliver(n, p, e, now);
    return;
  }
  if (waited != 0) {
    for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1))
      count_blocked(r, size_t(std::countr_zero(rest)), waited);
  }
  if (!n.alone) {
    for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1))
      r.last[size_t(std::countr_zero(rest))] = lane_key(l);
  }
  if (world.wavelets) [[unlikely]]
    world.wavelets->wavelet(
        {coord_of(n.pe), now, now - waited, l.color, (e & kEntryControl) != 0, entry_data(e), l.port, tx});
  if (n.messages) [[unlikely]] follow_message(l, n, entry_data(e), size_t(std::countr_zero(tx)), now);
  free_entry(l, id, now);
  if (e & (kEntryControl | kEntryAdvance)) [[unlikely]] {
    depart_with_commands(l, n, e, tx, now);
    return;
  }
  if (!n.messages && ++l.moved == 0) {  // wrapped
    for (PortSet rest = n.tx; rest != 0; rest &= PortSet(rest - 1))
      carry(r, size_t(std::countr_zero(rest)));
  }
  for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1)) {
    int p = std::countr_zero(rest);
    if (p == kRampIndex)
      deliver_to_core(n, e, now);
    else
      deliver(n, p, e, now);
  }
}

// Control wavelets and the last one of an advancing send: they may leave by fewer outputs and change the
// position.
void Block::depart_with_commands(Lane& l, ColorNode& n, Entry e, PortSet tx, Cycle now) {
  Entry onward = e & ~kEntryAdvance;
  if (e & kEntryControl) onward = (onward & ~Entry(0xFFFFFFFF)) | control_after(l.node, entry_data(e));
  for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1)) {
    int p = std::countr_zero(rest);
    count_sent(routers[n.pe], size_t(p), 1);
    if (p == kRampIndex)
      deliver_to_core(n, e, now);
    else
      deliver(n, p, onward, now);
  }
  run_switch(l.node, e, now);
}

void Block::flush_counters(const ColorNode& n) {
  for (int i = 0; i < std::popcount(n.inputs); ++i) {
    Lane& l = lanes[n.first_lane + uint32_t(i)];
    for (PortSet rest = n.tx; rest != 0; rest &= PortSet(rest - 1))
      count_sent(routers[n.pe], size_t(std::countr_zero(rest)), l.moved);
    l.moved = 0;
  }
}

inline void Block::free_entry(Lane& l, uint32_t id, Cycle now) {
  l.head = uint8_t(l.head + 1 == l.capacity ? 0 : l.head + 1);
  l.last_pop = uint32_t(now);
  l.flags &= uint8_t(~Lane::asking);
  if (--l.count != 0) {
    Cycle at = now + std::max<Cycle>(1, entry_wait(lane_front(l), now));
    l.head_since = uint32_t(at);
    l.flags |= Lane::queued;
    lane_wheel.push(at, id);
  }
  if ((l.flags & (Lane::waiter | Lane::core_waits)) || ref_kind(l.up) == RefKind::mirror)
    wake_upstream(l, now);
}

void Block::wake_upstream(Lane& l, Cycle now) {
  if (ref_kind(l.up) == RefKind::mirror) {
    out[size_t(l.port)].credits.push_back(ref_index(l.up));
    return;
  }
  if (ref_kind(l.up) == RefKind::port) {
    port_wheel.push(now + 1, ref_index(l.up));
  } else if (l.port == Port::ramp) {
    wake(pe(nodes[l.node].pe), now + 1);
  } else if (ref_kind(l.up) == RefKind::lane) {
    wake_node(ref_index(l.up), now);
  }
  l.flags &= uint8_t(~(Lane::waiter | Lane::core_waits));
}

inline void Block::deliver(ColorNode& n, int port, Entry e, Cycle now) {
  const Cycle lands = now + hop_;
  const Entry entry = make_entry(entry_data(e), e & kEntryControl, lands);
  const Ref ref = n.down[size_t(port)];
  const uint32_t index = ref_index(ref);
  if (ref_kind(ref) == RefKind::lane) {
    push_lane(index, entry, lands);
  } else if (ref_kind(ref) == RefKind::mirror) {
    Mirror& m = mirrors[index];
    ++m.count;
    out[size_t(m.side)].pushes.push_back({m.remote_lane, entry});
  } else if (ref_kind(ref) == RefKind::port) {
    deliver_to_host(ports[index], e, now, lands);
  }
}

void Block::deliver_to_host(PortState& p, Entry e, Cycle now, Cycle arrives) {
  PortLink& link = links[p.link];
  link.next_free = next_turn(link.next_free, double(now), link.period);
  // A control wavelet ends here: its commands were for the routers on the way, unless a model goes on with them.
  if ((e & kEntryControl) && !p.controls) return;
  p.received.push_back({entry_data(e), arrives, (e & kEntryControl) != 0});
  if (p.watch != 0 && p.received.size() >= p.watch) watch_fired = true;
  if (p.program_port < 0) --stream_words;
}

void Block::push_lane(uint32_t id, Entry entry, Cycle lands) {
  Lane& l = lanes[id];
  int at = l.head + l.count;
  if (at >= l.capacity) at -= l.capacity;
  (l.capacity <= Lane::kInline ? l.ring[size_t(at)] : entries[l.long_ring + uint32_t(at)]) = entry;
  if (l.count++ == 0) arrive(l, id, lands);
}

void Block::wake_node(uint32_t node, Cycle now) {
  const ColorNode& n = nodes[node];
  for (int i = 0; i < std::popcount(n.inputs); ++i) {
    uint32_t id = n.first_lane + uint32_t(i);
    Lane& l = lanes[id];
    if (l.count == 0 || (l.flags & (Lane::queued | Lane::asking))) continue;
    l.flags |= Lane::queued;
    lane_wheel.push(now + std::max<Cycle>(1, entry_wait(lane_front(l), now)), id);
  }
}

}  // namespace cs::sim

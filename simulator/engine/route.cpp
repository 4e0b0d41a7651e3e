// The route phase of a block: which wavelets leave their routers in this cycle.
//
//   1. ask        every due lane looks at its outputs as they were at the start of the cycle; lanes that cannot leave
//                 are parked, and whoever frees what they wait for wakes them
//   2. depart     lanes whose outputs nobody else asked for leave at once
//   3. arbitrate  the others, router by router, by the rotating priority of each output
// Nothing moves before every lane has asked, so the order of lanes does not matter.

#include <algorithm>
#include <bit>
#include <cmath>

#include "simulator/engine/block.h"
#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

constexpr int kRampIndex = int(Port::ramp);

uint8_t lane_key(const Lane& l) { return uint8_t(int(l.port) * 32 + l.color); }

// How soon `key` comes after `last` in the fixed circular order: the smallest wins.
int turn(uint8_t key, uint8_t last) { return (int(key) - int(last) - 1) & 0xFF; }

}  // namespace

void Block::step(Cycle now) {
  for (uint32_t item : switch_wheel.take(now)) apply_position(ref_index(item), int(item >> kRefShift), now - 1);
  route(now);
  const std::vector<uint32_t>& cores = pe_wheel.take(now);
  work = candidates_.size() + cores.size();
  for (uint32_t index : cores) {
    Pe& p = *pes[index];
    if (p.wake != now) continue;
    p.wake = kNever;
    run_core(*this, p, now);
  }
}

void Block::route(Cycle now) {
  candidates_.clear();
  contested_.clear();
  for (uint32_t id : lane_wheel.take(now)) {
    PortSet tx = 0;
    if (ask(id, now, tx)) candidates_.push_back({id, tx});
  }
  run_sources(now);
  for (const Candidate& c : candidates_) {
    const Router& r = routers[nodes[lanes[c.lane].node].pe];
    if (r.contested & c.tx)
      contested_.push_back(c);
    else
      depart(c, now);
  }
  if (!contested_.empty()) arbitrate(now);
  push_sources(now);
}

bool Block::ask(uint32_t id, Cycle now, PortSet& tx) {
  Lane& l = lanes[id];
  l.flags &= uint8_t(~Lane::queued);
  ColorNode& n = nodes[l.node];
  if (!(n.rx & port_bit(l.port)) || n.teardown) return false;
  if ((n.rx & n.inputs) != port_bit(l.port)) check_conflict(n, l, now);
  tx = n.tx;
  Entry e = lane_front(l);
  if (e & kEntryControl)
    if (first_command(entry_data(e)).ignore) tx &= PortSet(~port_bit(Port::ramp));
  for (PortSet rest = tx; rest != 0; rest &= PortSet(rest - 1))
    if (!room(n, std::countr_zero(rest), now)) return false;
  Router& r = routers[n.pe];
  if (r.claim_cycle != uint32_t(now)) {
    r.claim_cycle = uint32_t(now);
    r.claimed = tx;
    r.contested = 0;
  } else {
    r.contested |= r.claimed & tx;
    r.claimed |= tx;
  }
  return true;
}

// Room at the start of the cycle; if there is none, whoever makes some will wake the lanes of the node.
bool Block::room(ColorNode& n, int port, Cycle now) {
  if (port == kRampIndex) {
    InputQueue& q = pe(n.pe).inputs[n.queue != 0xFF ? n.queue : resolve_queue(n)];
    if (!q.full()) return true;
    q.lane_waits = true;
    return false;
  }
  Ref ref = n.down[size_t(port)];
  uint32_t index = ref_index(ref);
  switch (ref_kind(ref)) {
    case RefKind::lane: {
      Lane& next = lanes[index];
      if (next.count < next.capacity) return true;
      next.flags |= Lane::waiter;
      return false;
    }
    case RefKind::mirror: {
      Mirror& m = mirrors[index];
      if (m.count < m.depth) return true;
      m.waiter = true;
      return false;
    }
    case RefKind::port: {
      PortState& p = ports[index];
      if (p.next_free <= double(now)) return true;
      p.waits_for_room = true;
      port_wheel.push(std::max(now, Cycle(std::ceil(p.next_free)) - 1), index);
      return false;
    }
    case RefKind::none: return false;
  }
  return false;
}

// Two inputs of one color that are open at the same time and both hold wavelets.
void Block::check_conflict(const ColorNode& n, const Lane& self, Cycle now) {
  uint32_t lane = n.first_lane;
  for (PortSet rest = n.inputs; rest != 0; rest &= PortSet(rest - 1), ++lane) {
    const Lane& other = lanes[lane];
    if (&other == &self || other.count == 0 || !(n.rx & port_bit(other.port))) continue;
    if (entry_wait(lane_front(other), now) != 0) continue;
    static constexpr const char* kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
    raise("colour-conflict", now, coord_of(n.pe),
          "wavelets of color " + std::to_string(n.color) + " arrived from " + kNames[int(self.port)] + " and " +
              kNames[int(other.port)] + " at the same time, and the current position accepts both");
    return;
  }
}

void Block::arbitrate(Cycle now) {
  std::sort(contested_.begin(), contested_.end(), [&](const Candidate& a, const Candidate& b) {
    uint32_t ra = nodes[lanes[a.lane].node].pe, rb = nodes[lanes[b.lane].node].pe;
    return ra != rb ? ra < rb : a.lane < b.lane;
  });
  for (size_t begin = 0; begin < contested_.size();) {
    size_t end = begin + 1;
    uint32_t router = nodes[lanes[contested_[begin].lane].node].pe;
    while (end < contested_.size() && nodes[lanes[contested_[end].lane].node].pe == router) ++end;
    arbitrate_router(contested_, begin, end, now);
    begin = end;
  }
}

// Rounds: every output names the next lane in its order; lanes named by all their outputs leave, their rivals
// drop out. If no lane is named by all of its outputs, the lane named by the lowest contested output beats its
// rivals there, and the round is repeated.
void Block::arbitrate_router(std::vector<Candidate>& all, size_t begin, size_t end, Cycle now) {
  std::vector<Candidate> asking(all.begin() + long(begin), all.begin() + long(end));
  const Router& r = routers[nodes[lanes[asking.front().lane].node].pe];
  auto drop_rivals = [&](const Candidate& winner, PortSet outputs, bool leaves) {
    std::erase_if(asking, [&](const Candidate& c) {
      if (c.lane == winner.lane) return leaves;
      if (!(c.tx & outputs)) return false;
      retry(c.lane, now);
      return true;
    });
  };
  while (!asking.empty()) {
    std::array<int, kPorts> named;
    named.fill(-1);
    for (size_t i = 0; i < asking.size(); ++i)
      for (PortSet rest = asking[i].tx; rest != 0; rest &= PortSet(rest - 1)) {
        size_t p = size_t(std::countr_zero(rest));
        auto key = [&](int c) { return turn(lane_key(lanes[asking[size_t(c)].lane]), r.last[p]); };
        if (named[p] < 0 || key(int(i)) < key(named[p])) named[p] = int(i);
      }
    int winner = -1, first = -1;
    for (size_t i = 0; i < asking.size() && winner < 0; ++i) {
      bool all_outputs = true;
      for (PortSet rest = asking[i].tx; rest != 0; rest &= PortSet(rest - 1))
        all_outputs &= named[size_t(std::countr_zero(rest))] == int(i);
      if (all_outputs) winner = int(i);
    }
    for (size_t p = 0; p < kPorts && first < 0; ++p)
      if (named[p] >= 0 && std::count_if(asking.begin(), asking.end(),
                                         [&](const Candidate& c) { return c.tx >> p & 1; }) > 1)
        first = int(p);
    if (winner >= 0) {
      Candidate c = asking[size_t(winner)];
      drop_rivals(c, c.tx, true);
      depart(c, now);
    } else {
      drop_rivals(asking[size_t(named[size_t(first)])], PortSet(1u << first), false);
    }
  }
}

void Block::retry(uint32_t id, Cycle now) {
  lanes[id].flags |= Lane::queued;
  lane_wheel.push(now + 1, id);
}

void Block::depart(const Candidate& c, Cycle now) {
  Lane& l = lanes[c.lane];
  ColorNode& n = nodes[l.node];
  Router& r = routers[n.pe];
  Entry e = lane_front(l);
  uint32_t waited = uint32_t(now) - l.head_since;
  for (PortSet rest = c.tx; rest != 0; rest &= PortSet(rest - 1)) {
    size_t p = size_t(std::countr_zero(rest));
    ++r.sent[p];
    if (waited != 0) r.blocked[p] += waited;
    r.last[p] = lane_key(l);
  }
  if (world.trace) {
    WaveletEvent event{coord_of(n.pe), now,    now - waited, l.color, (e & kEntryControl) != 0,
                       entry_data(e),  l.port, c.tx};
    world.trace->wavelet(event);
  }
  free_entry(l, c.lane, now);
  Entry onward = e;
  if (e & (kEntryControl | kEntryAdvance)) {
    if (e & kEntryControl) onward = (e & ~Entry(0xFFFFFFFF)) | control_after(l.node, entry_data(e));
    run_switch(l.node, e, now);
  }
  onward &= ~kEntryAdvance;
  for (PortSet rest = c.tx; rest != 0; rest &= PortSet(rest - 1)) {
    int p = std::countr_zero(rest);
    if (p == kRampIndex)
      deliver_to_core(n, e, now);
    else
      deliver(n, p, onward, now);
  }
}

void Block::free_entry(Lane& l, uint32_t id, Cycle now) {
  l.head = uint8_t(l.head + 1 == l.capacity ? 0 : l.head + 1);
  --l.count;
  l.last_pop = uint32_t(now);
  if (l.count != 0) {
    Cycle at = now + std::max<Cycle>(1, entry_wait(lane_front(l), now));
    l.head_since = uint32_t(at);
    l.flags |= Lane::queued;
    lane_wheel.push(at, id);
  }
  if (ref_kind(l.up) == RefKind::mirror) {
    out[size_t(l.port)].credits.push_back(ref_index(l.up));
    return;
  }
  if (!(l.flags & (Lane::waiter | Lane::core_waits))) return;
  if (l.port == Port::ramp) {
    wake(pe(nodes[l.node].pe), now + 1);
  } else if (ref_kind(l.up) == RefKind::lane) {
    wake_node(ref_index(l.up), now);
  } else if (ref_kind(l.up) == RefKind::port) {
    port_wheel.push(now + 1, ref_index(l.up));
  }
  l.flags &= uint8_t(~(Lane::waiter | Lane::core_waits));
}

void Block::deliver(ColorNode& n, int port, Entry e, Cycle now) {
  Cycle lands = now + Cycle(world.machine.router.hop_cycles);
  Entry entry = make_entry(entry_data(e), e & kEntryControl, lands);
  Ref ref = n.down[size_t(port)];
  uint32_t index = ref_index(ref);
  switch (ref_kind(ref)) {
    case RefKind::lane: push_lane(index, entry, lands); break;
    case RefKind::mirror: {
      Mirror& m = mirrors[index];
      ++m.count;
      out[size_t(m.side)].pushes.push_back({m.remote_lane, entry});
      break;
    }
    case RefKind::port: {
      PortState& p = ports[index];
      p.received.push_back({entry_data(e), lands, (e & kEntryControl) != 0});
      p.next_free = std::max(p.next_free, double(now)) + 1.0 / world.machine.host.host_wavelets_per_cycle;
      if (p.watch != 0 && p.received.size() >= p.watch) watch_fired = true;
      break;
    }
    case RefKind::none: break;
  }
}

void Block::push_lane(uint32_t id, Entry entry, Cycle lands) {
  Lane& l = lanes[id];
  int at = l.head + l.count;
  if (at >= l.capacity) at -= l.capacity;
  (l.capacity <= Lane::kInline ? l.ring[size_t(at)] : entries[l.long_ring + uint32_t(at)]) = entry;
  if (l.count++ == 0) {
    l.head_since = uint32_t(lands);
    l.flags |= Lane::queued;
    lane_wheel.push(lands, id);
  }
}

void Block::wake_node(uint32_t node, Cycle now) {
  const ColorNode& n = nodes[node];
  for (int i = 0; i < std::popcount(n.inputs); ++i) {
    uint32_t id = n.first_lane + uint32_t(i);
    Lane& l = lanes[id];
    if (l.count == 0 || (l.flags & Lane::queued)) continue;
    l.flags |= Lane::queued;
    lane_wheel.push(now + std::max<Cycle>(1, entry_wait(lane_front(l), now)), id);
  }
}

void Block::take_push(const Outbox::Push& push, Cycle now) {
  push_lane(push.lane, push.entry, now + entry_wait(push.entry, now));
}

void Block::take_credit(uint32_t mirror, Cycle now) {
  Mirror& m = mirrors[mirror];
  --m.count;
  if (!m.waiter) return;
  m.waiter = false;
  wake_node(m.node, now);
}

}  // namespace cs::sim

// Switches and host ports of a block.
//
// A control wavelet carries up to eight commands of three bits (opcode, ignore) as one string of 24 bits:
// payload bits 22-29, then bits 0-15. Bits 16-21 are the entry point. The first command acts on this router
// when the wavelet departs; dropping it shifts the string by three bits.

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/host/port_rates.h"
#include "simulator/engine/block.h"

namespace cs::sim {

ControlCommand first_command(uint32_t payload) { return {int(payload >> 22 & 3), (payload >> 24 & 1) != 0}; }

uint32_t drop_command(uint32_t payload) {
  uint32_t string = (payload >> 22 & 0xFF) | (payload & 0xFFFF) << 8;
  string >>= 3;
  return (payload & 0x003F0000) | (string & 0xFF) << 22 | string >> 8;
}

namespace {

enum Opcode { kNop = 0, kAdvance = 1, kReset = 2, kTeardown = 3 };

// The position after a command, from the present one.
int next_position(const RouteConfig& config, int position, int opcode) {
  if (opcode == kReset) return 0;
  if (opcode != kAdvance) return position;
  for (int p = position + 1; p < 4; ++p)
    if (config.positions[size_t(p)].valid) return p;
  return config.ring_mode ? 0 : position;
}

}  // namespace

// What the next router sees of the payload.
uint32_t Block::control_after(uint32_t node, uint32_t payload) const {
  const ColorNode& n = nodes[node];
  const RouteConfig& config = config_of(n);
  int opcode = first_command(payload).opcode;
  bool changed = next_position(config, n.position, opcode) != n.position;
  bool drop = false;
  switch (config.pop_mode) {
    case PopMode::no_pop:
      break;
    case PopMode::always_pop:
      drop = true;
      break;
    case PopMode::pop_on_advance:
      drop = changed;
      break;
    case PopMode::pop_on_advance_nop:
      drop = changed || opcode == kNop;
      break;
  }
  return drop ? drop_command(payload) : payload;
}

void Block::run_switch(uint32_t node, Entry entry, Cycle now) {
  if (entry & kEntryControl) move_switch(node, first_command(entry_data(entry)).opcode, now);
  if (entry & kEntryAdvance) move_switch(node, kAdvance, now);
}

void Block::move_switch(uint32_t node, int opcode, Cycle now) {
  ColorNode& n = nodes[node];
  const RouteConfig& config = config_of(n);
  if (opcode == kTeardown) {
    if (n.teardown) return;
    n.teardown = true;
    lanes[n.first_lane].flags &= uint8_t(~Lane::straight);
    n.rx = 0;
    signal_teardown(n, now);
    return;
  }
  int position = next_position(config, n.position, opcode);
  if (position == n.position) return;
  n.position = uint8_t(position);
  if (world.trace) [[unlikely]] world.trace->switched({coord_of(n.pe), now, n.color, n.position});
  const int delay = world.machine.router.switch_advance_cycles;
  if (delay == 0) {
    apply_position(node, now);
    return;
  }
  // Only wavelets that come before the command see the old position: those behind it wait for the new one.
  n.rx = 0;
  switch_wheel.push(now + 1 + Cycle(delay), node);
}

// Lanes that wait ask again in the cycle after `now`; those that asked in it keep what they got.
void Block::apply_position(uint32_t node, Cycle now) {
  ColorNode& n = nodes[node];
  const SwitchPosition& p = config_of(n).positions[n.position];
  flush_counters(n);
  n.rx = n.teardown ? 0 : p.rx;
  n.tx = p.tx;
  wake_node(node, now);
}

// Host inputs: those that may send in this cycle and have room. They send after all lanes have asked.
void Block::run_sources(Cycle now) {
  sources_.clear();
  for (uint32_t index : port_wheel.take(now)) {
    PortState& p = ports[index];
    if (!p.input) {
      if (p.waits_for_room) {
        p.waits_for_room = false;
        wake_node(p.lane, now);
      }
      continue;
    }
    while (p.chunk < p.chunks.size() && p.offset == p.chunks[p.chunk].data.size()) {
      p.chunks[p.chunk].data = {};
      ++p.chunk;
      p.offset = 0;
    }
    if (p.chunk == p.chunks.size()) continue;
    Cycle due = std::max(p.chunks[p.chunk].not_before, Cycle(std::ceil(links[p.link].next_free)));
    if (due > now) {
      port_wheel.push(due, index);
      continue;
    }
    Lane& l = lanes[p.lane];
    if (l.count >= l.capacity)
      l.flags |= Lane::waiter;
    else if (l.count + (l.last_pop == uint32_t(now)) >= l.capacity)
      port_wheel.push(now + 1, index);  // freed in this very cycle: room in the next
    else
      offer(index, now);
  }
}

// One of a link's ports sends per cycle: the next one behind that which sent last. They come in ascending order.
void Block::offer(uint32_t index, Cycle now) {
  PortLink& link = links[ports[index].link];
  if (link.source == 0) {
    sources_.push_back(index);
    link.source = uint32_t(sources_.size());
    return;
  }
  uint32_t& ahead = sources_[link.source - 1];
  uint32_t later = index;
  if (ahead <= link.last && index > link.last) std::swap(ahead, later);
  port_wheel.push(now + 1, later);
}

void Block::push_sources(Cycle now) {
  for (uint32_t index : sources_) {
    PortState& p = ports[index];
    Cycle lands = now + Cycle(world.machine.router.hop_cycles);
    const PortState::Chunk& chunk = p.chunks[p.chunk];
    push_lane(p.lane, make_entry(chunk.data[p.offset++], chunk.control ? kEntryControl : 0, lands), lands);
    p.entered.push_back(now);
    PortLink& link = links[p.link];
    link.next_free = next_turn(link.next_free, double(now), link.period);
    link.last = index;
    link.source = 0;
    if (p.program_port < 0) --stream_words;
    port_wheel.push(std::max(now + 1, Cycle(std::ceil(link.next_free))), index);
  }
}

}  // namespace cs::sim

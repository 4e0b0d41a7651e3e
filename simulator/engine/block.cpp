// Building and looking after a block's PEs: made when first needed, memory from the tile's image and the
// weights.

#include "simulator/engine/block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/engine/core.h"

namespace cs::sim {

Block::Block(World& w, Rect r)
    : world(w),
      rect(r),
      routers(size_t(r.area())),
      pes(size_t(r.area())),
      ways_back(size_t(r.area())),
      tile_of(size_t(r.area()), -1) {
  hop_ = Cycle(w.machine.router.hop_cycles);
  ramp_rate_ = w.machine.ramp.wavelets_per_cycle;
  pe_wheel.grow(pes.size());
}

Pe& Block::pe(uint32_t index) {
  std::unique_ptr<Pe>& slot = pes[index];
  if (slot) return *slot;
  slot = std::make_unique<Pe>();
  Pe& p = *slot;
  p.index = index;
  p.at = coord_of(index);
  p.input_of_color.fill(0xFF);
  p.output_last.fill(-1);
  if (tile_of[index] < 0) return p;
  const TileImage& tile = world.tiles[size_t(tile_of[index])];
  p.tile = &tile;
  p.blocked = tile.blocked;
  p.threads_blocked = tile.threads_blocked;
  p.dsrs.resize(tile.dsrs);
  for (const DsrInit& d : tile.program->dsrs) {
    Dsr& dsr = p.dsrs[tile.dsr_place[d.file][d.index]];
    dsr.dsd = isa::decode(d.words);
    dsr.loaded_with = d.config;
  }
  p.settings.share(tile.settings);
  p.make_fifos();
  p.ready_at.assign(size_t(tile.slots), 0);
  const Machine& m = world.machine;
  p.inputs.reserve(tile.inputs.size());
  for (const QueueBinding& b : tile.inputs) {
    InputQueue q;
    q.id = b.queue;
    q.color = b.color;
    q.priority = b.priority;
    q.words = b.queue < m.queues.input_words.size() ? uint8_t(m.queues.input_words[b.queue]) : uint8_t(1);
    q.task_id = int8_t(m.queues.data_task_on_queue ? b.queue : b.color);
    p.input_of_color[b.color] = add_queue(p, q, std::max<int>(q.words, m.ramp.down_cycles + 1));
  }
  return p;
}

void Block::set_queue(ColorNode& n, uint8_t queue) {
  n.queue = queue;
  n.in = queue == 0xFF ? nullptr : &pe(n.pe).inputs[queue];
}

uint8_t Block::add_queue(Pe& p, InputQueue q, int depth) {
  q.depth = uint16_t(depth);
  q.ring = rings.take(q.depth);
  p.inputs.push_back(q);
  const Router& r = routers[p.index];
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i)  // the others may lie elsewhere now
    if (nodes[i].queue != 0xFF) nodes[i].in = &p.inputs[nodes[i].queue];
  return uint8_t(p.inputs.size() - 1);
}

Entry* RingPool::take(size_t entries) {
  if (entries > left_) {
    left_ = std::max(kChunk, entries);
    chunks_.push_back(std::make_unique<Entry[]>(left_));
  }
  left_ -= entries;
  return chunks_.back().get() + left_;
}

Ahead* WaysBack::find_free(Cycle now) {
  if (now < none_before_) return nullptr;
  none_before_ = kNever;
  for (const auto& way : all_) {
    if (way->until <= now) return none_before_ = now, way.get();
    none_before_ = std::min(none_before_, way->until);
  }
  return nullptr;
}

bool WaysBack::available(const Pe& owner, Cycle now) {
  return owner.ahead != nullptr || all_.size() < most_ || find_free(now) != nullptr;
}

Ahead& WaysBack::take(Pe& owner, Cycle now) {
  if (owner.ahead != nullptr) return *owner.ahead;
  Ahead* way = find_free(now);
  if (way == nullptr) way = all_.emplace_back(std::make_unique<Ahead>()).get();
  if (way->owner != nullptr) way->owner->ahead = nullptr;
  way->owner = &owner;
  return *(owner.ahead = way);
}

// A color that reaches the ramp without a queue of its own gets one as deep as a lane.
uint8_t Block::resolve_queue(ColorNode& n) {
  Pe& p = pe(n.pe);
  uint8_t& index = p.input_of_color[n.color];
  if (index == 0xFF) {
    const Machine& m = world.machine;
    InputQueue q;
    q.color = n.color;
    q.words = uint8_t(m.router.lane_depth_wavelets);
    if (!m.queues.data_task_on_queue) q.task_id = int8_t(n.color);
    if (p.inputs.size() == p.inputs.capacity()) p.inputs.reserve(p.inputs.size() + 1);  // rare, and PEs are many
    index = add_queue(p, q, std::max(m.router.lane_depth_wavelets, m.ramp.down_cycles + 1));
  }
  set_queue(n, index);
  return index;
}

// Memory of a PE as it is at cycle 0.
void Block::initial_memory(uint32_t index, PeMemory& memory) const {
  if (tile_of[index] < 0) return;
  const TileImage& tile = world.tiles[size_t(tile_of[index])];
  memory.assign(tile.memory_low, tile.memory);
  if (!world.program.host) return;
  Coord at = coord_of(index);
  for (uint32_t c : constants) {
    const Constant& constant = world.program.host->constants[c];
    if (!constant.rect.contains(at)) continue;
    const Symbol* symbol = tile.program->symbol(constant.symbol);
    if (symbol == nullptr) continue;
    size_t pe_number =
        size_t(at.y - constant.rect.y) * size_t(constant.rect.w) + size_t(at.x - constant.rect.x);
    size_t from = constant.offset + pe_number * constant.bytes_per_pe;
    size_t n = constant.bytes_per_pe;
    if (from > world.weights.size() || n > world.weights.size() - from) continue;
    if (n == 0 || symbol->address + n > size_t(world.machine.core.memory_bytes)) continue;
    memory.cover(symbol->address, uint32_t(symbol->address + n));
    std::memcpy(memory.at(symbol->address), world.weights.data() + from, n);
  }
}

void Block::ensure_memory(Pe& p) {
  if (!p.memory.empty()) return;
  initial_memory(p.index, p.memory);
  if (p.tile == nullptr || !p.tile->guard.any_noinit()) return;
  p.unwritten.start(p.tile->guard);
  if (!world.program.host) return;
  for (uint32_t c : constants) {
    const Constant& constant = world.program.host->constants[c];
    const Symbol* symbol = constant.rect.contains(p.at) ? p.tile->program->symbol(constant.symbol) : nullptr;
    if (symbol) p.unwritten.mark(symbol->address, int64_t(symbol->address) + int64_t(constant.bytes_per_pe));
  }
}

void Block::wake(Pe& p, Cycle at) {
  if (at >= p.wake) return;
  p.wake = at;
  pe_wheel.push(at, p.index);
}

ColorNode* Block::find_node(uint32_t index, int color) {
  const Router& r = routers[index];
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i)
    if (nodes[i].color == color) return &nodes[i];
  return nullptr;
}

const ColorNode* Block::find_node(uint32_t index, int color) const {
  return const_cast<Block*>(this)->find_node(index, color);
}

uint32_t Block::lane_of(const ColorNode& n, Port port) const {
  if (!(n.inputs & port_bit(port))) return ~0u;
  return n.first_lane + uint32_t(std::popcount(PortSet(n.inputs & (port_bit(port) - 1))));
}

void Block::raise(std::string name, Cycle at, Coord where, std::string message) {
  Fault f{std::move(name), std::move(message), at, where};
  if (!fault || f.before(*fault)) fault = std::move(f);
}

// The core's half of the ramp: a wavelet enters its input queue.
void Block::deliver_to_core(ColorNode& n, Entry e, Cycle now) {
  if (n.stream == StreamEnd::to_host) [[unlikely]] {
    deliver_to_host(ports[n.stream_port - 1], e, now, now + Cycle(world.machine.ramp.down_cycles));
    return;
  }
  if (n.filter != 0) [[unlikely]] {
    const bool rejects = filter_rejects(n, e);
    count_filter(n, e);
    if (rejects) return;
  }
  Pe& p = pe(n.pe);
  InputQueue& q = *n.in;
  p.first_arrival = std::min(p.first_arrival, now);
  q.push(make_entry(entry_data(e), e & kEntryControl, now));
  q.messages |= n.messages;
  if (q.count > 1 || p.tile == nullptr) return;  // whoever took the one before looks for this one
  const Machine& m = world.machine;
  if (q.readers != 0) wake(p, now + Cycle(m.ramp.down_cycles));
  if (q.task_id < 0 || (p.blocked >> q.task_id & 1)) return;
  p.tasks_changed = true;
  if (!p.running) wake(p, now + Cycle(std::max(m.ramp.down_cycles, m.core.task_start_cycles)));
}

// What crossed a border.
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

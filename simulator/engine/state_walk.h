// StateWalk: one walk over the state of an engine for writing and reading it, in an order that knows no blocks.
//
//   1. the clock, launches and what their PEs have done, totals, lines not shown yet, a fault to come
//   2. PE by PE in rows: its router, its colors with their lanes, its core; with each what the wheels hold of it
//   3. the program's ports with the links that they share
// What lies in a block as an index is written as what it stands for: a lane by PE, color and port, a port by its number
// in the Program. What borders between blocks count (Mirror) follows from the lanes beyond.
#pragma once

#include <algorithm>
#include <set>

#include "simulator/engine/state_check.h"
#include "simulator/engine/together_messages.h"
#include "simulator/engine/wheel_contents.h"

namespace cs::sim {

template <class A>
class StateWalk {
 public:
  StateWalk(Engine::Impl& m, A& archive) : m_(m), a_(archive) {
    for (const auto& b : m.grid.blocks) {
      if (A::kReads && b) clear(*b);
      due_.push_back(b && (A::kReads || m.grid.owns(*b)) ? std::make_unique<BlockDue>(*b) : nullptr);
    }
  }

  void read() {
    StripTotals all;
    totals(all);
    take(all);
    for (int y = 0; y < m_.grid.height; ++y) row(y);
    for (size_t i = 0; i < m_.ports.size(); ++i) program_port(i);
    if (good()) count();
    for (const auto& b : m_.grid.blocks)
      if (b && !m_.grid.owns(*b)) clear(*b);
  }

  // ---- the parts of it, in order
  void totals(StripTotals& t) {
    a_(m_.now, m_.world.launches, t.printed);
    bool pending = !t.pending.empty();
    a_(pending);
    if (pending && A::kReads) t.pending.resize(1);
    if (pending) a_(t.pending[0]);
    if (A::kReads) t.tallies.resize(m_.world.launches.size());
    a_(t.instructions, t.passed);
    for (LaunchTally& tally : t.tallies) a_(tally);
  }
  void row(int y) {
    for (int x = 0; x < m_.grid.width && good(); ++x) place({x, y});
  }
  void own_rows() {
    const Grid& g = m_.grid;
    for (int y = g.first_row * g.block_height; y < std::min(g.height, g.end_row * g.block_height); ++y) row(y);
  }
  void program_port(size_t i) {
    const PortHome& home = m_.ports[i];
    if (!good() || home.block == nullptr) return;
    due_here_ = due_of(*home.block);
    program_port(*home.block, home.index);
  }

 private:
  bool good() const {
    if constexpr (A::kReads) return a_.ok();
    return true;
  }
  void fail() {
    if constexpr (A::kReads) a_.fail();
  }
  const BlockDue* due_of(const Block& b) const {
    const Grid& g = m_.grid;
    return due_[size_t(b.rect.y / g.block_height) * size_t(g.columns) + size_t(b.rect.x / g.block_width)].get();
  }

  // As the load has left it, but for what was to begin in it.
  static void clear(Block& b) {
    b.lane_wheel = decltype(b.lane_wheel)();
    b.lane_wheel.grow(b.lanes.size());
    b.pe_wheel = decltype(b.pe_wheel)();
    b.pe_wheel.grow(b.pes.size());
    b.port_wheel = {};
    b.switch_wheel = {};
    for (auto& p : b.pes) p.reset();
    for (ColorNode& n : b.nodes) b.set_queue(n, 0xFF);
    b.ops = OpPool();
    b.rings = {};
  }

  // How many cycles hold the item.
  template <class Wheel>
  size_t wheel(Wheel& wheel, const Due& due, uint32_t item) {
    const auto cycles = due.of(item);
    size_t n = cycles.size();
    a_.size(n);
    for (size_t i = 0; i < n && good(); ++i) {
      Cycle at = A::kReads ? 0 : cycles[i].second;
      a_(at);
      if (!A::kReads) continue;
      if (at < m_.now || at == kNever) return fail(), 0;
      wheel.push(at, item);
    }
    return n;
  }

  // ---- of all PEs together

  void take(StripTotals& t) {
    m_.printed = std::move(t.printed);
    if (!t.pending.empty()) m_.pending = std::move(t.pending[0]);
    Block* first = nullptr;
    for (const auto& b : m_.grid.blocks) {
      if (!b) continue;
      if (first == nullptr) first = b.get();
      b->launches.resize(t.tallies.size());
    }
    if (first == nullptr) return;
    first->launches = t.tallies;
    first->instructions = t.instructions;
    first->passed = t.passed;
  }

  // ---- one PE with its router

  // Whether there is a block around a PE that has neither routes nor a program depends on its size.
  void place(Coord at) {
    Block* b = m_.grid.block_at(at);
    const uint32_t index = b == nullptr ? 0 : b->index_of(at);
    bool there = b != nullptr && (b->routers[index].nodes != 0 || b->tile_of[index] >= 0 || b->find_pe(index));
    a_(there);
    if (!there) return;
    if (b == nullptr) return fail();
    due_here_ = due_of(*b);
    place(*b, index);
  }

  void place(Block& b, uint32_t index) {
    Router& r = b.routers[index];
    core(b, index);
    bool used = r.last != decltype(r.last){} || r.sent != decltype(r.sent){} || r.blocked != decltype(r.blocked){};
    a_(used);
    if (used) a_(r.last, r.sent, r.blocked);
    const auto carried = b.carried_.find(index);
    bool carries = carried != b.carried_.end();
    a_(carries);
    if (carries) a_(A::kReads ? b.carried_[index] : carried->second);
    for (uint32_t i = r.first_node; i < r.first_node + r.nodes && good(); ++i) node(b, i);
  }

  void node(Block& b, uint32_t index) {
    ColorNode& n = b.nodes[index];
    PortSet rx = n.rx, tx = n.tx, busy = n.message_outputs;
    uint8_t position = n.position;
    bool teardown = n.teardown, messages = n.messages;
    for (PortSet* ports : {&rx, &tx, &busy}) a_.below(*ports, 32);
    a_.below(position, 4);
    a_(teardown, messages);
    if (A::kReads) {
      n.rx = rx & 31, n.tx = tx & 31, n.message_outputs = busy & 31, n.position = position & 3;
      n.teardown = teardown, n.messages = messages;
    }
    own_route(b, n);
    if (n.filter != 0) a_(b.filters[n.filter - 1u]);
    uint8_t queue = n.queue;
    a_(queue);
    const Pe* p = b.find_pe(n.pe);
    if (A::kReads && queue != 0xFF) {
      if (p == nullptr || queue >= p->inputs.size()) return fail();
      b.set_queue(n, queue);
    }
    wheel(b.switch_wheel, due_here_->switches, index);
    stream_port(b, n);
    for (uint32_t l = n.first_lane; l < n.first_lane + uint32_t(std::popcount(n.inputs)) && good(); ++l) lane(b, l);
    if (A::kReads && n.teardown && n.inputs != 0) b.lanes[n.first_lane].flags &= uint8_t(~Lane::straight);
  }

  void own_route(Block& b, ColorNode& n) {
    const size_t shared = m_.world.program.routes.size();
    bool own = n.config >= shared;
    a_(own);
    if (!own) return;
    if (A::kReads && n.config < shared) {
      n.config = uint32_t(shared + b.own_routes.size());
      b.own_routes.emplace_back();
    }
    if (n.config < shared) return fail();
    a_(b.own_routes[n.config - shared]);
  }

  void lane(Block& b, uint32_t index) {
    Lane& l = b.lanes[index];
    Mirror* mirror = nullptr;
    if (ref_kind(l.up) == RefKind::mirror)
      mirror = &m_.grid.block_at(neighbour(b.coord_of(b.nodes[l.node].pe), l.port))->mirrors[ref_index(l.up)];
    bool used = l.last_pop != ~0u || l.moved != 0 || l.count != 0 || (l.flags & Lane::core_waits) != 0 ||
                !due_here_->lanes.of(index).empty();
    a_(used);
    if (!used) return;
    bool waiter = mirror != nullptr ? mirror->waiter : (l.flags & Lane::waiter) != 0;
    bool core_waits = (l.flags & Lane::core_waits) != 0;
    size_t count = l.count;
    a_(l.head_since, l.last_pop, l.moved, l.message_output, l.message_left, waiter, core_waits);
    a_.size(count);
    if (count > l.capacity) return fail();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = A::kReads ? i : (l.head + i) % l.capacity;
      a_(l.capacity <= Lane::kInline ? l.ring[at] : b.entries[l.long_ring + at]);
    }
    const bool queued = wheel(b.lane_wheel, due_here_->lanes, index) != 0;
    if (!A::kReads) return;
    l.head = 0;
    l.count = uint8_t(count);
    l.flags |= uint8_t((core_waits ? Lane::core_waits : 0) | (waiter && mirror == nullptr ? Lane::waiter : 0));
    if (queued) l.flags |= Lane::queued;
    if (mirror != nullptr) {
      mirror->count = l.count;
      mirror->waiter = waiter;
    }
  }

  // ---- cores

  void core(Block& b, uint32_t index) {
    bool there = b.find_pe(index) != nullptr;
    a_(there);
    if (!there) return;
    if constexpr (A::kReads) {
      b.pes[index] = std::make_unique<Pe>();
      Pe& fresh = *b.pes[index];
      fresh.index = index;
      fresh.at = b.coord_of(index);
      if (b.tile_of[index] >= 0) fresh.tile = &m_.world.tiles[size_t(b.tile_of[index])];
      if (fresh.tile != nullptr) fresh.settings.share(fresh.tile->settings);
    }
    Pe& p = *b.find_pe(index);
    a_(p);
    unwritten(p);
    queues(b, p);
    operations(b, p);
    if (A::kReads && good() && !plausible(p, m_.world)) return fail();
    wheel(b.pe_wheel, due_here_->pes, index);
  }

  void unwritten(Pe& p) {
    bool any = !p.unwritten.empty();
    a_(any);
    if (!any) return;
    if (p.tile == nullptr || !p.tile->guard.any_noinit()) return fail();
    if (A::kReads) p.unwritten.start(p.tile->guard);
    for (uint64_t& word : p.unwritten.all()) a_(word);
  }

  void queues(Block& b, Pe& p) {
    size_t n = p.inputs.size();
    a_.size(n);
    if (n > 0xFE) return fail();
    if (A::kReads) p.inputs.resize(n);
    for (InputQueue& q : p.inputs) {
      a_(q);
      if (q.count > q.depth || q.depth == 0 || q.depth > 4096) return fail();
      if (A::kReads) q.ring = b.rings.take(q.depth);
      for (size_t i = 0; i < q.count && good(); ++i) a_(q.ring[A::kReads ? i : (q.head + i) % q.depth]);
    }
  }

  void operations(Block& b, Pe& p) {
    for (size_t thread = 0; thread < p.ops.size() && good(); ++thread) {
      bool at_work = p.ops[thread] != nullptr;
      a_(at_work);
      if (!at_work) continue;
      if (A::kReads) p.ops[thread] = b.ops.take();
      VectorOp& op = *p.ops[thread];
      a_(op);
      if (p.tile == nullptr || op.inst >= p.tile->code.size()) return fail();
      const ElementOp* const element = p.tile->code[op.inst].element;
      CS_CHECK(A::kReads || op.element == element, "an operation computes what its instruction says");
      op.element = element;
      if (A::kReads && op.dst.kind == Cursor::Kind::fabout) {
        const ColorNode* n = b.find_node(p.index, op.dst.color);
        op.dst.set_lane(n == nullptr ? ~0u : b.lane_of(*n, Port::ramp));
      }
    }
  }

  // ---- ports

  void stream_port(Block& b, ColorNode& n) {
    bool there = n.stream_port != 0;
    a_(there);
    if (!there) return;
    uint32_t index = n.stream_port - 1;
    if (A::kReads) {
      Block* same = nullptr;
      if (n.stream == StreamEnd::none || m_.stream_port(n.color, b.coord_of(n.pe), n.stream, same, index) == nullptr)
        return fail();
    }
    PortState& p = b.ports[index];
    port(p);
    PortLink& link = b.links[p.link];
    bool sent = link.last == index;
    a_(link.period, link.next_free, sent);
    if (A::kReads && sent) link.last = index;
    wheel(b.port_wheel, due_here_->ports, index);
  }

  void program_port(Block& b, uint32_t index) {
    PortState& p = b.ports[index];
    port(p);
    wheel(b.port_wheel, due_here_->ports, index);
    if (!links_.emplace(&b, p.link).second) return;
    PortLink& link = b.links[p.link];
    bool sent = link.last != UINT32_MAX;
    a_(link.period, link.next_free, sent);
    if (!sent) return;
    uint32_t last = A::kReads ? 0 : uint32_t(b.ports[link.last].program_port);
    a_.below(last, m_.ports.size());
    if (A::kReads && good() && m_.ports[last].block == &b) link.last = m_.ports[last].index;
  }

  // What was sent is gone, what was received is kept.
  void port(PortState& p) {
    a_(p.limit, p.taken, p.controls, p.waits_for_room);
    size_t n = p.chunks.size() - p.chunk;
    a_.size(n);
    if (A::kReads) p.chunks.resize(n);
    for (size_t i = p.chunk; i < p.chunks.size() && good(); ++i) a_(p.chunks[i]);
    a_(p.offset);
    if (A::kReads && p.offset > (p.chunks.empty() ? 0 : p.chunks[0].data.size())) return fail();
    Cycle before = 0;
    size_t entered = p.entered.size();
    a_.size(entered);
    if (A::kReads) p.entered.resize(entered);
    for (Cycle& at : p.entered) step(at, before);
    before = 0;
    size_t received = p.received.size();
    a_.size(received);
    if (A::kReads) p.received.resize(received);
    for (PortEvent& e : p.received) {
      a_(e.data, e.control);
      step(e.cycle, before);
    }
    if (p.taken > received) fail();
  }

  // Cycles that rise, as what lies between them.
  void step(Cycle& at, Cycle& before) {
    uint64_t more = at - before;
    a_(more);
    at = before += more;
  }

  // What blocks count of their PEs and streams.
  void count() {
    for (auto& b : m_.grid.blocks) {
      if (!b) continue;
      b->commands_waiting = b->streams_not_ready = b->stream_words = 0;
      for (const auto& p : b->pes) {
        if (!p) continue;
        b->commands_waiting += p->commands.size() - p->next_command;
        b->streams_not_ready += !p->command_ready;
      }
      for (const PortState& p : b->ports) {
        if (p.program_port >= 0) continue;
        for (const PortState::Chunk& c : p.chunks) b->stream_words += c.data.size();
        b->stream_words += p.input ? 0 - p.offset : p.limit - p.received.size();
      }
      m_.refresh(*b);
    }
  }

  Engine::Impl& m_;
  A& a_;
  std::vector<std::unique_ptr<BlockDue>> due_;
  const BlockDue* due_here_ = nullptr;
  std::set<std::pair<const Block*, uint32_t>> links_;
};

}  // namespace cs::sim

// The engine as the host sees it, between cycles: memory, launches, streams, counters.

#include <algorithm>
#include <bit>
#include <cstring>

#include "simulator/engine/together_messages.h"

namespace cs::sim {

void LaunchTally::begins(Cycle t) {
  begin = std::min(begin, t);
  last_begin = std::max(last_begin, t);
}

void LaunchTally::ends(Cycle t, Coord pe, Cycle begun) { add({kNever, 0, t, t, pe, 1, t - begun}); }

void LaunchTally::add(const LaunchTally& o) {
  begin = std::min(begin, o.begin);
  last_begin = std::max(last_begin, o.last_begin);
  first_end = std::min(first_end, o.first_end);
  const bool earlier_pe = std::pair(o.last_pe.y, o.last_pe.x) < std::pair(last_pe.y, last_pe.x);
  if (o.ended > 0 && (ended == 0 || o.end > end || (o.end == end && earlier_pe))) last_pe = o.last_pe;
  end = std::max(end, o.end);
  ended += o.ended;
  pe_cycles += o.pe_cycles;
}

void Engine::read(Coord c, uint16_t address, std::span<uint8_t> out) const {
  std::fill(out.begin(), out.end(), uint8_t(0));
  const Block* b = impl_->grid.block_at(c);
  if (b == nullptr) return;
  if (!impl_->grid.owns(*b)) return impl_->together->read(*b, c, address, out);
  uint32_t index = b->index_of(c);
  const Pe* p = b->find_pe(index);
  PeMemory initial;
  const PeMemory& memory = p && !p->memory.empty() ? p->memory : initial;
  if (&memory == &initial) b->initial_memory(index, initial);
  const uint32_t from = std::max<uint32_t>(address, memory.low());
  const uint32_t to = uint32_t(std::min<size_t>(address + out.size(), memory.end()));
  if (from < to) std::copy_n(memory.at(from), to - from, out.begin() + (from - address));
}

void Engine::write(Coord c, uint16_t address, std::span<const uint8_t> in) {
  Block* b = impl_->grid.block_at(c);
  if (b == nullptr || b->tile_of[b->index_of(c)] < 0) return;
  if (!impl_->grid.owns(*b))
    return impl_->together->tell_owner(*b, Asked::write, c, address, std::vector(in.begin(), in.end()));
  Pe& p = b->pe(b->index_of(c));
  b->ensure_memory(p);
  size_t end = std::min(address + in.size(), size_t(impl_->world.machine.core.memory_bytes));
  if (address < end) {
    p.memory.cover(address, uint32_t(end));
    std::copy_n(in.begin(), end - address, p.memory.at(address));
  }
  if (!p.unwritten.empty()) p.unwritten.mark(address, int64_t(end));
}

void Engine::launch(int function_export, std::span<const uint32_t> args, Rect pes, Cycle not_before) {
  Impl& m = *impl_;
  if (leads())
    m.together->tell_all(Asked::launch, function_export, std::vector(args.begin(), args.end()), pes, not_before);
  const auto& exports = m.world.program.exports;
  CS_CHECK(function_export >= 0 && size_t(function_export) < exports.size(), "no such export");
  uint32_t number = uint32_t(m.world.launches.size());
  m.world.launches.push_back({function_export,
                              exports[size_t(function_export)].name,
                              {args.begin(), args.end()},
                              std::max(not_before, m.now)});
  const Launch& launch = m.world.launches.back();
  const Cycle start = Cycle(m.world.machine.launch_cycles());
  int64_t with_it = 0;
  std::vector<bool> has(m.world.tiles.size());
  for (size_t t = 0; t < has.size(); ++t) has[t] = m.world.program.tiles[t].function(launch.name) != nullptr;
  for (auto& b : m.grid.blocks) {
    if (!b || !b->rect.intersects(pes)) continue;
    for (int y = std::max(pes.y, b->rect.y); y < std::min(pes.y + pes.h, b->rect.y + b->rect.h); ++y)
      for (int x = std::max(pes.x, b->rect.x); x < std::min(pes.x + pes.w, b->rect.x + b->rect.w); ++x) {
        uint32_t index = b->index_of({x, y});
        if (b->tile_of[index] < 0 || !has[size_t(b->tile_of[index])]) continue;
        ++with_it;
        if (!m.grid.owns(*b)) continue;
        Pe& p = b->pe(index);
        p.commands.push_back(number);
        b->launches.resize(number + 1);
        p.tasks_changed = true;
        ++b->commands_waiting;
        if (!p.running && p.command_ready)
          b->wake(p, std::max(std::max(launch.not_before, p.command_ready_at) + start, m.now));
      }
    m.refresh(*b);
  }
  m.world.launches.back().pes = with_it;
}

std::vector<LaunchSpan> Engine::launches() const {
  std::vector<LaunchSpan> spans;
  StripTotals totals = own_totals(*impl_);
  if (leads() && !impl_->world.launches.empty())
    for (auto& tallies : impl_->together->ask_all<std::vector<LaunchTally>>(Asked::tallies))
      totals.add({{}, {}, 0, {}, std::move(tallies)});
  for (const Launch& launch : impl_->world.launches) {
    const LaunchTally& all = totals.tallies[spans.size()];
    spans.push_back({launch.name, launch.not_before, all.begin, all.last_begin, all.first_end, all.end,
                     all.last_pe, launch.pes, all.ended, all.pe_cycles});
  }
  return spans;
}

void Engine::send(int port, std::span<const uint32_t> data, Cycle not_before) {
  if (data.empty()) return;
  PortHome& home = impl_->ports.at(size_t(port));
  if (!impl_->grid.owns(*home.block))
    return impl_->together->tell_owner(*home.block, Asked::send, port, std::vector(data.begin(), data.end()),
                                       not_before, false);
  PortState& p = home.block->ports[home.index];
  p.chunks.push_back({{data.begin(), data.end()}, not_before});
  home.block->port_wheel.push(std::max(impl_->now, not_before), home.index);
  impl_->refresh(*home.block);
}

void Engine::send_control(int port, uint32_t data, Cycle not_before) {
  PortHome& home = impl_->ports.at(size_t(port));
  if (!impl_->grid.owns(*home.block))
    return impl_->together->tell_owner(*home.block, Asked::send, port, std::vector{data}, not_before, true);
  home.block->ports[home.index].chunks.push_back({{data}, not_before, true});
  home.block->port_wheel.push(std::max(impl_->now, not_before), home.index);
  impl_->refresh(*home.block);
}

void Engine::keep_controls(int port) {
  PortHome& home = impl_->ports.at(size_t(port));
  if (!impl_->grid.owns(*home.block)) return impl_->together->tell_owner(*home.block, Asked::keep_controls, port);
  home.block->ports[home.index].controls = true;
}

void Engine::accept(int port, size_t total) {
  PortHome& home = impl_->ports.at(size_t(port));
  if (!impl_->grid.owns(*home.block)) return impl_->together->tell_owner(*home.block, Asked::accept, port, total);
  PortState& p = home.block->ports[home.index];
  if (total == p.limit) return;
  p.limit = total;
  if (p.received.size() >= total) return;
  p.waits_for_room = true;
  home.block->port_wheel.push(impl_->now, home.index);
  impl_->refresh(*home.block);
}

const std::vector<PortEvent>& Engine::received(int port) const {
  const PortHome& home = impl_->ports.at(size_t(port));
  return home.block->ports[home.index].received;
}

Cycle Engine::entered(int port, size_t i) const {
  const PortHome& home = impl_->ports.at(size_t(port));
  const std::vector<Cycle>& entered = home.block->ports[home.index].entered;
  return i < entered.size() ? entered[i] : kNever;
}

void Engine::watch(int port, size_t count) {
  PortHome& home = impl_->ports.at(size_t(port));
  if (!impl_->grid.owns(*home.block)) return impl_->together->tell_owner(*home.block, Asked::watch, port, count);
  home.block->ports[home.index].watch = count;
}

PeStats Engine::stats(Coord c) const {
  PeStats s;
  const Block* b = impl_->grid.block_at(c);
  if (b == nullptr) return s;
  if (!impl_->grid.owns(*b)) return impl_->together->stats(*b, c);
  uint32_t index = b->index_of(c);
  const Cycle now = impl_->now;
  if (const Pe* p = b->find_pe(index)) {
    static_cast<CoreStats&>(s) = p->stats;
    s.first_arrival = p->first_arrival;
    if (p->why >= 0 && p->accounted < now) s.stalls[size_t(p->why)] += now - p->accounted;
    // The last group of several cycles may reach beyond the present.
    Cycle over = p->accounted > now ? p->accounted - now : 0;
    for (uint64_t* part : {&s.stalls[size_t(Stall::memory)], &s.stalls[size_t(Stall::dependency)], &s.busy}) {
      uint64_t cut = std::min<uint64_t>(over, *part);
      *part -= cut;
      over -= cut;
    }
  }
  const Router& r = b->routers[index];
  for (size_t p = 0; p < kPorts; ++p) {
    s.sent[p] = b->sent(index, p);
    s.blocked[p] = b->blocked(index, p);
  }
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i) {
    const ColorNode& n = b->nodes[i];
    for (uint32_t l = n.first_lane; l < n.first_lane + uint32_t(std::popcount(n.inputs)); ++l) {
      const Lane& lane = b->lanes[l];
      for (PortSet rest = n.tx; rest != 0; rest &= PortSet(rest - 1))
        s.sent[size_t(std::countr_zero(rest))] += lane.moved;
      if (lane.count == 0 || entry_wait(b->lane_front(lane), now) != 0) continue;
      for (PortSet rest = n.tx; rest != 0; rest &= PortSet(rest - 1))
        s.blocked[size_t(std::countr_zero(rest))] += uint32_t(now) - lane.head_since;
    }
  }
  return s;
}

uint64_t Engine::wavelet_hops() const {
  uint64_t hops = leads() ? impl_->together->others().hops : 0;
  for (const auto& b : impl_->grid.own()) {
    if (!b) continue;
    for (uint32_t r = 0; r < b->routers.size(); ++r)
      for (size_t p = 0; p < kPorts; ++p) hops += b->sent(r, p);
    for (const Lane& l : b->lanes) hops += uint64_t(l.moved) * uint64_t(std::popcount(b->nodes[l.node].tx));
  }
  return hops;
}

uint64_t Engine::instructions() const {
  uint64_t n = leads() ? impl_->together->others().instructions : 0;
  for (const auto& b : impl_->grid.own())
    if (b) n += b->instructions;
  return n;
}

bool Engine::running(Coord c) const {
  const Block* b = impl_->grid.block_at(c);
  if (b != nullptr && !impl_->grid.owns(*b)) return impl_->together->ask_owner<bool>(*b, Asked::running, c);
  const Pe* p = b == nullptr ? nullptr : b->find_pe(b->index_of(c));
  return p != nullptr && (p->running || p->active != 0);
}

PeProbe Engine::probe(Coord c) const {
  if (leads()) return impl_->together->whole().probe(c);
  PeProbe probe;
  const Block* b = impl_->grid.block_at(c);
  if (b == nullptr) return probe;
  const Pe* p = b->find_pe(b->index_of(c));
  if (p == nullptr) return probe;
  const Machine::Queues& queues = impl_->world.machine.queues;
  probe.running = p->running;
  probe.task = p->running ? p->task : -1;
  probe.inst = p->pc;
  probe.microthreads = uint16_t(p->active & kMicrothreads);
  probe.input_fill.assign(queues.input_words.size(), 0);
  probe.output_fill.assign(queues.output_words.size(), 0);
  for (const InputQueue& q : p->inputs)
    if (q.id < probe.input_fill.size()) probe.input_fill[q.id] = q.count;
  for (size_t q = 0; q < probe.output_fill.size(); ++q) {
    int color = p->output_last[q];
    const ColorNode* n = color < 0 ? nullptr : b->find_node(p->index, color);
    if (n == nullptr) continue;
    int count = b->lanes[b->lane_of(*n, Port::ramp)].count;
    probe.output_fill[q] = std::max(0, count - impl_->world.machine.router.lane_depth_wavelets);
  }
  return probe;
}

}  // namespace cs::sim

// The engine's clock: find the next cycle in which a block has something to do, step those blocks (in
// parallel when there is enough to do), hand over what crossed borders, look for faults and watches.

#include "simulator/engine/engine.h"

#include <algorithm>
#include <array>

#include "runtime/support/mapped_file.h"
#include "simulator/engine/together_messages.h"

namespace cs::sim {
const char* stall_name(Stall s) {
  static constexpr const char* kNames[] = {"input", "output", "dependency", "memory", "dispatch"};
  return size_t(s) < size_t(kStalls) ? kNames[size_t(s)] : "?";
}

std::span<const std::string_view> allowable_faults() {
  static constexpr std::array<std::string_view, size_t(Allowable::count)> kNames{
      "out-of-bounds", "uninitialised-read", "colour-conflict", "queue-conflict"};
  return kNames;
}

uint64_t Engine::allowed(const std::string& fault) const {
  const auto names = allowable_faults();
  const size_t i = size_t(std::find(names.begin(), names.end(), fault) - names.begin());
  if (i == names.size()) return 0;
  uint64_t sum = leads() ? impl_->together->others().passed[i] : 0;
  for (const auto& b : impl_->grid.own())
    if (b) sum += b->passed[i];
  return sum;
}

Engine::Engine(const Machine& machine, const EngineOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->world.machine = machine;
  impl_->options = options;
}

Engine::~Engine() = default;

namespace {

// What is mapped stays where it is; anything else may be gone before the engine is.
void hold_weights(World& w, std::span<const uint8_t> weights) {
  if (auto file = MappedFile::of(weights)) {
    w.weights = weights;
    w.weights_held = std::move(file);
    return;
  }
  const auto copy = std::make_shared<std::vector<uint8_t>>(weights.begin(), weights.end());
  w.weights = *copy;
  w.weights_held = copy;
}

// As results in registers are kept (ResultTimes).
bool latencies_are_short(const World& w) {
  const Machine::Core& core = w.machine.core;
  if (std::max(core.result_cycles, core.dsd_start_cycles) > int(ResultTimes::kMostLatency)) return false;
  return std::all_of(w.tiles.begin(), w.tiles.end(), [](const TileImage& tile) {
    return std::all_of(tile.code.begin(), tile.code.end(), [](const Decoded& d) {
      return std::max<Cycle>(d.latency, d.condition) <= ResultTimes::kMostLatency;
    });
  });
}

}  // namespace

bool Engine::load(const Program& program, std::span<const uint8_t> weights, Diag& diag) {
  EngineOptions options = impl_->options;
  Machine machine = impl_->world.machine;
  TraceSink* trace = impl_->world.trace;
  PrintSink print = std::move(impl_->print);
  TraceSink *details = impl_->world.details, *wavelets = impl_->world.wavelets;
  impl_ = std::make_unique<Impl>();
  Impl& m = *impl_;
  m.options = options;
  m.print = std::move(print);
  World& w = m.world;
  w.machine = machine;
  w.trace = trace;
  w.details = details;
  w.wavelets = wavelets;
  w.program = program;
  for (size_t i = 0; i < allowable_faults().size(); ++i)
    if (std::find(options.allow.begin(), options.allow.end(), allowable_faults()[i]) != options.allow.end())
      w.allowed |= uint8_t(1u << i);
  hold_weights(w, weights);
  if (options.ranks != nullptr) m.together = std::make_unique<Together>(m, *options.ranks);
  const auto meet = [&](bool good) { return m.together == nullptr ? good : m.together->meet(*this, good, diag); };
  const Machine::Router& r = machine.router;
  if (r.hop_cycles < 1 || r.hop_cycles > 1000 || r.lane_depth_wavelets < 1 || r.lane_depth_wavelets > 200 ||
      machine.ramp.up_cycles < 0 || machine.ramp.up_cycles > 1000 || machine.ramp.down_cycles < 0 ||
      machine.host.host_wavelets_per_cycle <= 0) {
    diag.error(
        {}, "the machine's router or ramp numbers are outside what the engine can run",
        "hop_cycles 1-1000, lane_depth_wavelets 1-200, ramp cycles 0-1000, host_wavelets_per_cycle above 0");
    return meet(false);
  }
  w.tiles.reserve(program.tiles.size());
  for (const TileProgram& tile : w.program.tiles) w.tiles.push_back(make_tile_image(tile, machine));
  if (!latencies_are_short(w)) {
    diag.error({}, "an instruction's result takes more cycles on this machine than the engine can run",
               "at most " + std::to_string(ResultTimes::kMostLatency));
    return meet(false);
  }
  m.grid.width = program.fabric_width;
  m.grid.height = program.fabric_height;
  m.grid.block_width = std::max(1, options.block_width);
  m.grid.block_height = std::max(1, options.block_height);
  const bool cut = m.together == nullptr || m.together->cut(diag);
  if (!meet(cut && build_grid(w, m.grid, m.ports, diag))) return false;
  m.next.assign(m.grid.blocks.size(), kNever);
  for (const auto& b : m.grid.own())
    if (b) m.refresh(*b);
  m.loaded = true;
  return true;
}

const Program& Engine::program() const { return impl_->world.program; }
const Machine& Engine::machine() const { return impl_->world.machine; }
std::span<const uint8_t> Engine::weights() const { return impl_->world.weights; }
const EngineOptions& Engine::options() const { return impl_->options; }
Cycle Engine::now() const { return impl_->now; }
Cycle Engine::next_event() const {
  if (impl_->faulted) return kNever;
  return leads() ? impl_->together->affairs().next : impl_->next_event();
}
void Engine::step(Cycle to, bool past_end, Cycle unseen) {
  if (leads() && !impl_->faulted) impl_->together->tell_all(Asked::step, to, past_end, unseen);
  impl_->step(to, past_end, unseen);
}
bool Engine::faulted() const { return impl_->faulted; }
const RunStatus& Engine::fault() const { return impl_->status; }
int Engine::block_columns() const { return impl_->grid.columns; }
int Engine::block_rows() const { return impl_->grid.rows; }
Rect Engine::block_rect(int column, int row) const { return impl_->grid.rect_of(column, row); }
void Engine::set_trace(TraceSink* sink) {
  CS_CHECK(sink == nullptr || impl_->options.ranks == nullptr, "no trace of several ranks");
  impl_->world.trace = sink;
  impl_->world.wavelets = sink != nullptr && sink->wants_wavelets() ? sink : nullptr;
  impl_->world.details = sink != nullptr && sink->wants_details() ? sink : nullptr;
}
bool Engine::watch_fired() const { return impl_->watch_fired; }
void Engine::watch_commands(bool armed) {
  if (leads() && armed != impl_->commands_armed) impl_->together->tell_all(Asked::watch_commands, armed);
  impl_->commands_armed = armed;
}
void Engine::watch_streams(bool armed) {
  if (leads() && armed != impl_->streams_armed) impl_->together->tell_all(Asked::watch_streams, armed);
  impl_->streams_armed = armed;
}
size_t Engine::stream_words_pending() const {
  return leads() ? impl_->together->affairs().stream_words : impl_->stream_words_pending();
}
size_t Engine::commands_pending() const {
  return leads() ? impl_->together->affairs().commands : impl_->commands_pending();
}
bool Engine::leads() const { return impl_->together != nullptr && impl_->together->leads(); }

Block& Engine::Impl::block_of(Coord c) const {
  Block* b = grid.block_at(c);
  CS_CHECK(b != nullptr, "no PE at these coordinates");
  return *b;
}

Cycle Engine::Impl::next_event() const {
  const Cycle t = next_due();
  return pending ? std::min(t, pending->cycle) : t;
}

size_t Engine::Impl::commands_pending() const {
  size_t n = 0;
  for (const auto& b : grid.own())
    if (b) n += b->commands_waiting + b->streams_not_ready;
  return n;
}

// A watched port lacks so many wavelets, of which one arrives per cycle at the most.
Cycle Engine::Impl::earliest_stop(Cycle t) const {
  if (streams_armed) return t;
  Cycle stop = kNever;
  for (const PortHome& home : ports) {
    if (home.block == nullptr) continue;
    const PortState& p = home.block->ports[home.index];
    if (p.watch == 0) continue;
    const size_t missing = p.watch - std::min(p.watch, p.received.size());
    if (missing == 0) return t;
    stop =
        std::min(stop, t + 1 + Cycle(double(missing - 1) * std::max(1.0, home.block->links[p.link].period)));
  }
  return stop;
}

// Until a watch may end the run, or somebody may look at PEs, cores run ahead. Near the former they keep a
// way back and do not leave this step.
void Engine::Impl::look_ahead(Cycle t, Cycle to, Cycle unseen) {
  constexpr Cycle kNear = 256;
  const Cycle stop = together ? together->least(earliest_stop(t)) : earliest_stop(t);
  world.watched = stop < to && stop - t < kNear;
  world.commands_watched = commands_armed;
  world.near_horizon = to;
  world.horizon = world.watched ? to : std::min(stop, std::max(to, unseen));
  // A sink cannot take events back.
  world.run_ahead = !(world.watched || world.commands_watched) || world.trace == nullptr;
}

void Engine::Impl::step(Cycle to, bool past_end, Cycle unseen) {
  if (!loaded || faulted) return;
  if (together) return step_together(to, past_end, unseen);
  watch_fired = false;
  look_ahead(now, to, unseen);
  while (now < to) {
    const Cycle t = next_due();
    if (pending && pending->cycle < std::min(t, to)) return declare_fault();
    if (t >= to) {
      if (to != kNever && (past_end || t != kNever)) now = to;
      return show_printed(t == kNever ? kNever : now);
    }
    if (!world.watched && t >= world.horizon) look_ahead(t, to, unseen);
    step_blocks(t);
    exchange(t);
    now = t + 1;
    after_cycle(t);
    if (faulted) return;
    if (watch_fired || (commands_armed && commands_pending() == 0) ||
        (streams_armed && stream_words_pending() == 0))
      return rewind_to_now();
  }
}

void Engine::Impl::step_blocks(Cycle t) {
  due.clear();
  size_t work = 0;
  for (size_t i = 0; i < next.size(); ++i)
    if (next[i] == t) {
      due.push_back(uint32_t(i));
      work += grid.blocks[i]->work;
    }
  if (options.threads > 1 && due.size() > 1 && work >= size_t(std::max(0, options.parallel_work)) &&
      world.trace == nullptr) {
    if (!workers) workers = std::make_unique<Workers>(options.threads);
    workers->for_each(due.size(), [&](size_t i) { grid.blocks[due[i]]->step(t); });
  } else {
    for (uint32_t i : due) grid.blocks[i]->step(t);
  }
}

void Engine::Impl::exchange(Cycle t) {
  for (uint32_t i : due) next[i] = grid.blocks[i]->next_event();
  for (uint32_t i : due) {
    Block& b = *grid.blocks[i];
    for (int side = 0; side < 4; ++side) {
      Outbox& box = b.out[size_t(side)];
      if (box.empty()) continue;
      Coord c = neighbour({int(i) % grid.columns, int(i) / grid.columns}, Port(side));
      if (grid.owns_row(c.y))
        hand_over(box, size_t(c.y) * size_t(grid.columns) + size_t(c.x), t);
      else
        together->pack(box, Port(side), c.x, t);
      box.clear();
    }
  }
}

void Engine::Impl::hand_over(Outbox& box, size_t to, Cycle t) {
  Block& b = *grid.blocks[to];
  for (const Outbox::Push& push : box.pushes) b.take_push(push, t);
  for (uint32_t mirror : box.credits) b.take_credit(mirror, t);
  next[to] = b.next_event();
}

void Engine::Impl::refresh(Block& b) {
  if (!grid.owns(b)) return;
  size_t i =
      size_t(b.rect.y / grid.block_height) * size_t(grid.columns) + size_t(b.rect.x / grid.block_width);
  next[i] = b.next_event();
}

void Engine::Impl::after_cycle(Cycle t) {
  take_printed();
  show_printed(t + 1);
  find_outcomes();
  if (pending && pending->cycle <= t) declare_fault();
}

// Faults and watches of the blocks that were stepped.
void Engine::Impl::find_outcomes() {
  for (uint32_t i : due) {
    Block& b = *grid.blocks[i];
    if (b.fault) {
      if (!pending || b.fault->before(*pending)) pending = b.fault;
      b.fault.reset();
    }
    watch_fired |= b.watch_fired;
    b.watch_fired = false;
  }
}

// An early stop: cores that have run ahead of it go back.
void Engine::Impl::rewind_to_now() {
  world.run_ahead = false;
  for (const auto& b : grid.own()) {
    if (!b) continue;
    bool any = false;
    for (auto& p : b->pes) {
      if (!p || !p->ahead || p->ahead->until <= now) continue;
      Core(*b, *p, now - 1).rewind();
      any = true;
    }
    if (any) refresh(*b);
  }
  if (pending && pending->cycle >= now) pending.reset();
}

void Engine::Impl::declare_fault() {
  faulted = true;
  now = std::max(now, pending->cycle + 1);
  status.reason = StopReason::fault;
  status.now = now;
  if (!together) show_printed(pending->cycle + 1);
  status.fault = pending->name;
  status.message = "cycle " + std::to_string(pending->cycle) + ", PE (" + std::to_string(pending->pe.x) +
                   ", " + std::to_string(pending->pe.y) + "): " + pending->message;
}

}  // namespace cs::sim

// One function per event; then what ends a gap: a wavelet, room, or nothing from outside.
#include "simulator/report/wait_tracker.h"

#include <algorithm>
#include <bit>

#include "runtime/host/samples.h"

namespace cs::sim {
namespace {

constexpr Cycle kJustNow = 3;  // a core goes on within so many cycles after its lane has room

}  // namespace

const char* cause_name(Cause c) {
  static constexpr const char* kNames[] = {"start", "launch", "input", "output", "host", "link"};
  return kNames[size_t(c)];
}

// ---- who there is

WaitTracker::WaitTracker(const Program& program, const Machine& machine)
    : program_(program),
      down_(Cycle(machine.ramp.down_cycles)),
      start_(Cycle(std::max(machine.ramp.down_cycles, machine.core.task_start_cycles))),
      depth_(size_t(machine.router.lane_depth_wavelets)),
      colors_(machine.router.colors),
      pes_(size_t(program.fabric_width) * size_t(program.fabric_height)) {
  name_parties();
  find_ports();
}

void WaitTracker::name_parties() {
  if (program_.host)
    for (const KernelRow& k : program_.host->kernels) parties_.push_back(k.name);
  kernels_ = int(parties_.size());
  for (const TileProgram& t : program_.tiles) {
    of_tile_.push_back(int(parties_.size()));
    parties_.push_back(t.name);
  }
  first_port_ = int(parties_.size());
  for (const HostPort& p : program_.ports) parties_.push_back("host port " + p.name);
}

void WaitTracker::find_ports() {
  const size_t n = program_.ports.size();
  words_.assign(n, 0);
  passed_.assign(n, 0);
  received_.resize(n);
  port_chain_.resize(n);
  blocked_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const HostPort& p = program_.ports[i];
    const Coord at = edge_of(program_, p.side, p.position);
    (p.input ? inputs_ : outputs_)[{at.x, at.y, int(p.side), p.color}] = int(i);
    if (!program_.host) continue;
    for (const HostStep& step : program_.host->steps)
      if (step.port == p.name)
        for (const auto* list : {&program_.host->inputs, &program_.host->outputs, &program_.host->values})
          for (const HostTensor& t : *list)
            if (t.name == step.tensor) words_[i] = uint64_t(tensor_type(t).elements());
  }
}

WaitTracker::PeState& WaitTracker::pe(Coord c) {
  std::unique_ptr<PeState>& p = pes_[size_t(c.y) * size_t(program_.fabric_width) + size_t(c.x)];
  if (p) return *p;
  p = std::make_unique<PeState>();
  p->lanes.resize(size_t(colors_) * kPorts);
  p->colors.resize(size_t(colors_));
  p->who = party_of(c);
  // Lanes that host ports feed.
  for (int side = 0; side < int(Port::ramp); ++side)
    for (auto it = inputs_.lower_bound({c.x, c.y, side, 0});
         it != inputs_.end() && std::get<0>(it->first) == c.x && std::get<1>(it->first) == c.y &&
         std::get<2>(it->first) == side;
         ++it)
      lane(*p, Port(side), std::get<3>(it->first)).port = it->second;
  return *p;
}

int WaitTracker::kernel_at(Coord c) const {
  for (int k = 0; k < kernels_; ++k)
    if (program_.host->kernels[size_t(k)].rect.contains(c)) return k;
  return -1;
}

// Feeders stand in a row to the west of their kernel, collectors to the east of it, and are part of it. Kernels that
// are alike share their programs, so the name says what a PE is, and its place whose.
int WaitTracker::party_of(Coord c) const {
  if (const int k = kernel_at(c); k >= 0) return k;
  for (const TileRect& r : program_.rects) {
    if (!r.rect.contains(c)) continue;
    const std::string& name = program_.tiles[r.tile].name;
    const int step = name.find("_feeder") != std::string::npos      ? 1
                     : name.find("_collector") != std::string::npos ? -1
                                                                    : 0;
    for (int x = c.x + step; step != 0 && x >= 0 && x < program_.fabric_width; x += step)
      if (const int k = kernel_at({x, c.y}); k >= 0) return k;
    return of_tile_[r.tile];
  }
  return -1;
}

WaitTracker::LaneState& WaitTracker::lane(PeState& p, Port from, int color) {
  std::unique_ptr<LaneState>& l = p.lanes[size_t(color) * kPorts + size_t(from)];
  if (!l) l = std::make_unique<LaneState>();
  return *l;
}

WaitTracker::Color& WaitTracker::color(PeState& p, int color) {
  std::unique_ptr<Color>& c = p.colors[size_t(color)];
  if (!c) c = std::make_unique<Color>();
  return *c;
}

uint32_t WaitTracker::counter(uint32_t& id) {
  if (id == 0) {
    id = uint32_t(counters_.size());
    counters_.push_back(0);
  }
  return id;
}

WaitTracker::Flight& WaitTracker::LaneState::push() {
  if (count == ring.size()) {
    std::rotate(ring.begin(), ring.begin() + std::ptrdiff_t(head), ring.end());
    head = 0;
    ring.resize(2 * ring.size());
  }
  return ring[(head + count++) % ring.size()];
}

WaitTracker::Flight WaitTracker::LaneState::pop() {
  Flight f = std::move(ring[head]);
  ring[head] = {};
  head = (head + 1) % ring.size();
  --count;
  return f;
}

// ---- events

void WaitTracker::stall(const StallEvent& e) { pe(e.pe).stalled = e; }

// Its chain is known when the work() of its group has come.
void WaitTracker::send(const SendEvent& e) {
  if (ended_) return;
  PeState& p = pe(e.pe);
  LaneState& l = lane(p, Port::ramp, e.color);
  Flight& f = l.push();
  f = {.from = p.who, .sent = e.cycle};
  ++counters_[counter(color(p, e.color).sent_counter)];
  unsigned_.emplace_back(&l, l.count - 1);
}

void WaitTracker::work(const WorkEvent& e) {
  if (ended_) return;
  PeState& p = pe(e.pe);
  if (e.begin > p.busy_until) wake(p, e.begin, &e, -1);
  p.busy_until = std::max(p.busy_until, e.end);
  for (const auto& [l, place] : unsigned_) l->ring[(l->head + place) % l->ring.size()].chain = chain_of(p, e.begin);
  unsigned_.clear();
}

void WaitTracker::begin(const BeginEvent& e) {
  if (ended_) return;
  PeState& p = pe(e.pe);
  if (e.launched) p.chain = Chain::add({.who = p.who, .cause = Cause::launch, .begin = e.cycle}, {});
  if (e.color >= 0 && e.cycle > p.busy_until) wake(p, e.cycle, nullptr, e.color);
  p.busy_until = std::max(p.busy_until, e.cycle);
}

void WaitTracker::wavelet(const WaveletEvent& e) {
  if (ended_) return;
  PeState& p = pe(e.pe);
  LaneState& l = lane(p, e.from, e.color);
  const bool of_host = l.count == 0;
  Flight f = of_host ? Flight{.sent = e.landed} : l.pop();
  const Cycle waited = e.cycle - e.landed;
  // Those that follow one cycle after the other are let go by the same.
  const bool follows = waited == 0 && l.freed + 1 == e.cycle;
  const Chain blame = waited > 0 ? who_made_room(e, p) : follows ? l.blame : Chain();
  if (of_host && l.port >= 0) {
    f.from = party_of_port(l.port);
    f.cause = Cause::host;
    f.number = passed_[size_t(l.port)]++;
    note_port(l.port, e.cycle, blame);
  }
  // From here on its time is that of whoever let it go on.
  if (waited > 0 && blame) {
    f = {.chain = blame, .from = blame->who, .cause = Cause::link, .sent = e.cycle};
  } else {
    f.waited += waited;
  }
  l.freed_before = l.freed;
  l.blame_before = std::move(l.blame);
  l.freed = e.cycle;
  l.blame = blame;
  for (PortSet rest = e.to; rest != 0; rest &= PortSet(rest - 1)) {
    const int side = std::countr_zero(rest);
    if (side == int(Port::ramp)) {
      deliver(p, e, f);
    } else if (const int port = output_port(e, side); port >= 0) {
      // Those that follow at the rate of the port go on with the chain of the first one.
      if (waited == 0)
        port_chain_[size_t(port)] = Chain::add(
            {.who = party_of_port(port), .from = f.from, .cause = f.cause, .begin = e.cycle, .left = f.sent}, f.chain);
      const uint64_t words = words_[size_t(port)];
      if (++passed_[size_t(port)], words > 0 && passed_[size_t(port)] % words == 0)
        received_[size_t(port)].push_back({f.sent, e.cycle, f.chain});
    } else if (inside(neighbour(e.pe, Port(side)))) {
      lane(pe(neighbour(e.pe, Port(side))), opposite(Port(side)), e.color).push() = f;
    }
  }
}

bool WaitTracker::inside(Coord c) const {
  return c.x >= 0 && c.y >= 0 && c.x < program_.fabric_width && c.y < program_.fabric_height;
}

int WaitTracker::output_port(const WaveletEvent& e, int side) const {
  if (inside(neighbour(e.pe, Port(side)))) return -1;
  const auto found = outputs_.find({e.pe.x, e.pe.y, side, int(e.color)});
  return found == outputs_.end() ? -1 : found->second;
}

// Of a wavelet that had waited at the head of its lane: the lane before it that was full until just now, else the core
// or the host port that took its time; nobody if others had the link.
Chain WaitTracker::who_made_room(const WaveletEvent& e, PeState& p) {
  Chain found;
  Cycle latest = 0;
  for (PortSet rest = PortSet(e.to & ~port_bit(Port::ramp)); rest != 0; rest &= PortSet(rest - 1)) {
    const int side = std::countr_zero(rest);
    if (const int port = output_port(e, side); port >= 0)
      return port_chain_[size_t(port)];
    if (!inside(neighbour(e.pe, Port(side)))) continue;
    LaneState& next = lane(pe(neighbour(e.pe, Port(side))), opposite(Port(side)), e.color);
    const bool now = next.freed == e.cycle;  // it has moved in this cycle already
    const Cycle freed = now ? next.freed_before : next.freed;
    const Chain& blame = now ? next.blame_before : next.blame;
    const bool full = next.count + 1 + (now ? 1 : 0) >= depth_ && freed + kJustNow > e.cycle;
    if (!full || !blame || freed < latest) continue;
    found = blame;
    latest = freed;
  }
  return !found && (e.to & port_bit(Port::ramp)) != 0 ? chain_of(p, e.cycle) : found;
}

void WaitTracker::deliver(PeState& p, const WaveletEvent& e, const Flight& f) {
  Color& c = color(p, e.color);
  Delivered& d = c.last[c.count++ % Color::kKept];
  ++counters_[counter(c.counter)];
  d = {f, e.cycle};
  // A host wavelet keeps its place at its port; any other is the so-manieth that reached this core.
  if (f.cause != Cause::host) d.flight.number = c.count - 1;
}

void WaitTracker::note_port(int port, Cycle cycle, const Chain& blame) {
  std::vector<Blocked>& list = blocked_[size_t(port)];
  if (list.empty() || !(list.back().chain == blame)) list.push_back({cycle, blame});
}

// ---- the end of a gap

Chain WaitTracker::chain_of(PeState& p, Cycle now) {
  if (!p.chain) p.chain = Chain::add({.who = p.who, .begin = std::min(now, p.busy_until)}, {});
  return p.chain;
}

void WaitTracker::wake(PeState& p, Cycle t, const WorkEvent* e, int started_by) {
  if (started_by >= 0) {
    if (t >= start_) by_wavelet(p, started_by, t, t - start_, false);
    return;
  }
  const StallEvent& s = p.stalled;
  const bool own = s.end == t && s.microthread == e->microthread;
  const bool for_input = own && s.why == Stall::input, for_room = own && s.why == Stall::output;
  if (for_room && e->sends >= 0 && by_room(p, e->sends, t)) return;
  // Of an operation that another one's wait hides: only a wavelet of this very cycle can have been what it waited for.
  for (const int color : e->reads)
    if (color >= 0 && t >= down_ && by_wavelet(p, color, t, t - down_, !for_input)) return;
  if (!own && e->sends >= 0 && lane(p, Port::ramp, e->sends).freed + kJustNow > t && by_room(p, e->sends, t)) return;
}

// The newest wavelet that the core could see by then.
const WaitTracker::Delivered* WaitTracker::arrival(PeState& p, int color, Cycle latest) const {
  const Color* c = p.colors[size_t(color)].get();
  if (c == nullptr) return nullptr;
  for (uint64_t back = 1; back <= std::min<uint64_t>(c->count, Color::kKept); ++back) {
    const Delivered& d = c->last[(c->count - back) % Color::kKept];
    if (d.at <= latest) return &d;
  }
  return nullptr;
}

bool WaitTracker::by_wavelet(PeState& p, int color, Cycle t, Cycle latest, bool exactly) {
  const Delivered* d = arrival(p, color, latest);
  if (d == nullptr || (exactly && d->at != latest)) return false;
  const Cycle there = d->at + (t - latest);
  if (there <= p.busy_until) return false;  // it had been there before
  const Flight& f = d->flight;
  if (f.chain && f.from == p.who) {
    p.chain = f.chain;
    spend_on_own(p, p.busy_until, there);
    return true;
  }
  const Cycle late = std::min<Cycle>(f.waited, there - p.busy_until);
  spend(p, p.busy_until, p.busy_until + late, f.from, Cause::link);
  spend(p, p.busy_until + late, there, f.from, f.cause);
  ChainLink link{.who = p.who, .from = f.from, .cause = f.cause};
  link.begin = d->at;
  link.left = f.sent;
  link.counter = f.cause != Cause::host ? p.colors[size_t(color)]->counter : 0;
  link.number = f.number;
  p.chain = Chain::add(link, f.chain);
  return true;
}

bool WaitTracker::by_room(PeState& p, int color, Cycle t) {
  const LaneState& l = lane(p, Port::ramp, color);
  if (l.freed + kJustNow <= t) return false;
  const Chain blame = l.blame;
  if (!blame) {
    spend(p, p.busy_until, t, p.who, Cause::link);
    return true;
  }
  if (blame->who == p.who) {
    p.chain = blame;
    spend_on_own(p, p.busy_until, t);
    return true;
  }
  spend(p, p.busy_until, t, blame->who, Cause::output);
  const uint32_t sent = counter(this->color(p, color).sent_counter);
  ChainLink link{.who = p.who, .from = blame->who, .cause = Cause::output};
  link.begin = t;
  link.left = std::min(l.freed, t);
  link.counter = sent;
  link.number = counters_[sent];
  p.chain = Chain::add(link, blame);
  return true;
}

// ---- sums

void WaitTracker::spend(PeState& p, Cycle from, Cycle to, int what_for, Cause cause) {
  if (to > from) spent_[{p.who, what_for, cause}] += to - from;
}

// Another PE of the same kernel ended the gap. As long as the kernel itself waited, it was spent on what that waited
// for; from then on on the kernel.
void WaitTracker::spend_on_own(PeState& p, Cycle from, Cycle to) {
  const ChainLink& link = *p.chain.get();
  const Cycle own = std::clamp(link.begin, from, to);
  if (link.from >= 0) spend(p, from, own, link.from, link.cause);
  spend(p, link.from >= 0 ? own : from, to, p.who, Cause::input);
}

std::vector<Wait> WaitTracker::waits() const {
  std::vector<Wait> out;
  for (const auto& [key, cycles] : spent_)
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), cycles});
  return out;
}

Chain WaitTracker::blocked(int port, Cycle cycle) const {
  const std::vector<Blocked>& list = blocked_[size_t(port)];
  const auto after =
      std::upper_bound(list.begin(), list.end(), cycle, [](Cycle c, const Blocked& b) { return c < b.from; });
  return after == list.begin() ? Chain() : std::prev(after)->chain;
}

}  // namespace cs::sim

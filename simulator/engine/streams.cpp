// Host streams: the host's end of colors that turn back at a PE's ramp (Program::streams).
//
// From the host, a stream feeds the color's ramp lane, which goes on to the input queue like any other. To the host, it
// takes what the core has sent, as much as the host has asked for; the rest waits in lane and output queue. A PE's end
// is made when the host first asks for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulator/engine/together_messages.h"

namespace cs::sim {
namespace {

// Cycles per wavelet of one PE. The rows of the rectangle share the host's ports, the ports its network; the PEs of a
// row take turns.
double period_of(const Machine& m, Rect pes) {
  const double rows_at_once = std::min(pes.h, std::max(1, m.host.host_ports));
  const double rate = std::min(rows_at_once * m.host.host_wavelets_per_cycle, m.system_wavelets_per_cycle());
  return double(pes.w) * pes.h / rate;
}

// When the turn of the PE's column comes for the first time.
double first_turn(double period, Rect pes, int column) { return period * column / pes.w; }

template <class F>
void for_pes(Rect pes, F&& f) {
  for (int y = 0; y < pes.h; ++y)
    for (int x = 0; x < pes.w; ++x) f(Coord{pes.x + x, pes.y + y}, x);
}

bool no_stream(uint8_t color, Coord c, const char* direction, Diag& diag) {
  diag.error_at(fmt::format("stream on color {}", color),
                fmt::format("PE ({}, {}) does not stream {} the host on it", c.x, c.y, direction),
                "its program must import <memcpy/memcpy> with the parameters that get_params returned");
  return false;
}

}  // namespace

size_t Engine::Impl::stream_words_pending() const {
  size_t n = 0;
  for (const auto& b : grid.own())
    if (b) n += b->stream_words;
  return n;
}

PortState* Engine::Impl::stream_port(uint8_t color, Coord c, StreamEnd end, Block*& b, uint32_t& index) {
  b = grid.block_at(c);
  ColorNode* n = b ? b->find_node(b->index_of(c), color) : nullptr;
  if (n == nullptr || n->stream != end) return nullptr;
  if (n->stream_port == 0) {
    PortState state;
    state.program_port = -1;
    state.input = end == StreamEnd::from_host;
    state.limit = state.input ? SIZE_MAX : 0;
    const uint32_t lane = b->lane_of(*n, Port::ramp);
    state.lane = state.input ? lane : uint32_t(n - b->nodes.data());
    if (state.input) b->lanes[lane].up = make_ref(RefKind::port, uint32_t(b->ports.size()));
    state.link = uint32_t(b->links.size());
    b->links.emplace_back();
    b->ports.push_back(std::move(state));
    n->stream_port = uint32_t(b->ports.size());
  }
  index = n->stream_port - 1;
  return &b->ports[index];
}

// Gives the streams of the rectangle the turns of this transfer, and has `add` put what is new into each: add(port,
// block, number of the PE), which says whether there is anything. False and reported if a PE has no such stream.
template <class Add>
bool Engine::Impl::begin_streams(uint8_t color, Rect pes, StreamEnd end, Cycle start, Diag& diag, Add add) {
  const double period = period_of(world.machine, pes);
  bool good = true;
  size_t number = 0;
  for_pes(pes, [&](Coord c, int column) {
    const size_t pe = number++;
    Block* b = grid.block_at(c);
    uint32_t index = 0;
    if (good && b != nullptr && !grid.owns(*b)) {
      const ColorNode* n = b->find_node(b->index_of(c), color);
      if (n != nullptr && n->stream == end) return;
    }
    PortState* p = good ? stream_port(color, c, end, b, index) : nullptr;
    if (p == nullptr) {
      good = good && no_stream(color, c, end == StreamEnd::from_host ? "from" : "to", diag);
      return;
    }
    if (!add(*p, *b, pe)) return;
    PortLink& link = b->links[p->link];
    link.period = period;
    link.next_free = std::max(link.next_free, double(start) + first_turn(period, pes, column));
    // What comes from the host waits for its turn; lanes with what goes to it ask again.
    b->port_wheel.push(p->input ? std::max(now, Cycle(std::ceil(link.next_free))) : now, index);
    refresh(*b);
  });
  return good;
}

bool Engine::stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag& diag) {
  Impl& m = *impl_;
  CS_CHECK(pes.area() > 0 && data.size() % size_t(pes.area()) == 0, "the same number of words for every PE");
  const size_t per_pe = data.size() / size_t(pes.area());
  const Cycle start = std::max(m.now, not_before);
  if (leads()) m.together->tell_all(Asked::stream_to, color, pes, std::vector(data.begin(), data.end()), not_before);
  return m.begin_streams(color, pes, StreamEnd::from_host, start, diag, [&](PortState& p, Block& b, size_t pe) {
    const auto words = data.subspan(pe * per_pe, per_pe);
    if (words.empty()) return false;
    p.chunks.push_back({{words.begin(), words.end()}, start});
    b.stream_words += per_pe;
    return true;
  });
}

bool Engine::stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) {
  Impl& m = *impl_;
  const Cycle start = std::max(m.now, not_before);
  if (leads()) m.together->tell_all(Asked::stream_from, color, pes, per_pe, not_before);
  return m.begin_streams(color, pes, StreamEnd::to_host, start, diag, [&](PortState& p, Block& b, size_t) {
    p.limit += per_pe;
    b.stream_words += per_pe;
    p.waits_for_room = true;
    return true;
  });
}

std::vector<uint32_t> Engine::take_streamed(uint8_t color, Coord c) {
  Block* b = nullptr;
  uint32_t index = 0;
  std::vector<uint32_t> words;
  if (const Block* at = impl_->grid.block_at(c); at != nullptr && !impl_->grid.owns(*at))
    return impl_->together->ask_owner<std::vector<uint32_t>>(*at, Asked::take_streamed, color, c);
  PortState* p = impl_->stream_port(color, c, StreamEnd::to_host, b, index);
  if (p == nullptr) return words;
  for (; p->taken < p->received.size(); ++p->taken) words.push_back(p->received[p->taken].data);
  return words;
}

}  // namespace cs::sim

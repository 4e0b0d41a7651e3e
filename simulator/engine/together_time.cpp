// Cycles of several ranks, and what rank 0 hears at the end of a stretch of them.
//
// A cycle takes one round: borders are swapped while all agree on the least of what Moment has. The next cycle with
// work is then known but where something that crossed a border may act before it: that takes a second agreement.
#include <algorithm>

#include "simulator/engine/together_messages.h"

namespace cs::sim {
namespace {

// A border message has, for every block that something goes to: its column, how many pushes and credits; these.
constexpr size_t kHeadWords = 3, kPushWords = 3;

struct PortNews {
  size_t port = 0;
  std::vector<PortEvent> received;
  std::vector<Cycle> entered;
};

template <class A>
void state(A& a, PortNews& x) {
  auto& [port, received, entered] = x;
  a(port, received, entered);
}

}  // namespace

struct Together::News {
  Affairs affairs;
  std::vector<PrintLine> printed;
  std::vector<PortNews> ports;
};

// ---- agreeing

Cycle Together::least(Cycle value) {
  ranks_.least(std::span(&value, 1));
  return value;
}

namespace {

using MomentWords = std::array<uint64_t, 6>;

MomentWords words_of(const Moment& m) {
  return {m.next, m.effect, m.fault, m.quiet, m.commands_done, m.streams_done};
}

Moment moment_of(const MomentWords& w) { return {w[0], w[1], w[2], w[3], w[4], w[5]}; }

}  // namespace

void Together::agree(Moment& m) {
  MomentWords words = words_of(m);
  ranks_.least(words);
  m = moment_of(words);
}

Moment Engine::Impl::moment() const {
  Moment m;
  m.next = next_due();
  if (pending) m.fault = pending->cycle;
  m.quiet = watch_fired ? 0 : 1;
  if (commands_armed && commands_pending() != 0) m.commands_done = 0;
  if (streams_armed && stream_words_pending() != 0) m.streams_done = 0;
  return m;
}

// ---- borders

void Together::pack(const Outbox& box, Port side, int column, Cycle t) {
  std::vector<uint32_t>& words = borders_[side == Port::north ? 0 : 1].out;
  words.insert(words.end(), {uint32_t(column), uint32_t(box.pushes.size()), uint32_t(box.credits.size())});
  for (const Outbox::Push& push : box.pushes) {
    words.insert(words.end(), {push.lane, uint32_t(push.entry), uint32_t(push.entry >> 32)});
    effect_ = std::min(effect_, t + entry_wait(push.entry, t));
  }
  words.insert(words.end(), box.credits.begin(), box.credits.end());
  if (!box.credits.empty()) effect_ = std::min(effect_, t + 1);
}

void Together::swap_borders(Moment& m, Cycle t) {
  m.effect = effect_;
  effect_ = kNever;
  MomentWords words = words_of(m);
  ranks_.round(borders_, words);
  m = moment_of(words);
  const int rows[] = {m_.grid.first_row, m_.grid.end_row - 1};
  for (size_t side = 0; side < 2; ++side) {
    const std::vector<uint32_t>& in = borders_[side].in;
    for (size_t at = 0; at < in.size();) {
      const size_t column = in[at], pushes = in[at + 1], credits = in[at + 2];
      at += kHeadWords;
      Outbox box;
      for (size_t i = 0; i < pushes; ++i, at += kPushWords)
        box.pushes.push_back({in[at], in[at + 1] | Entry(in[at + 2]) << 32});
      box.credits.assign(in.begin() + ptrdiff_t(at), in.begin() + ptrdiff_t(at + credits));
      at += credits;
      m_.hand_over(box, size_t(rows[side]) * size_t(m_.grid.columns) + column, t);
    }
    borders_[side].out.clear();
    borders_[side].in.clear();
  }
  if (m.effect >= m.next) return;
  m.next = least(m_.next_due());
}

// A lane beside a border takes one wavelet in a cycle at most and gives one back; of both sides of both borders.
static size_t most_border_words(const Grid& grid) {
  size_t words = kHeadWords * size_t(grid.columns);
  for (int row : {grid.first_row - 1, grid.first_row, grid.end_row - 1, grid.end_row})
    for (int column = 0; column < grid.columns && row >= 0 && row < grid.rows; ++column)
      if (const auto& b = grid.blocks[size_t(row) * size_t(grid.columns) + size_t(column)])
        words += (kPushWords + 1) * size_t(std::count_if(b->mirrors.begin(), b->mirrors.end(), [](const Mirror& m) {
                   return m.side == Port::north || m.side == Port::south;
                 }));
  return words;
}

// ---- time

Moment Engine::Impl::exchange_together(Cycle t) {
  exchange(t);
  take_printed();
  find_outcomes();
  Moment m = moment();
  together->swap_borders(m, t);
  return m;
}

void Engine::Impl::step_together(Cycle to, bool past_end, Cycle unseen) {
  watch_fired = false;
  look_ahead(now, to, unseen);
  Moment m = moment();
  together->agree(m);
  Cycle shown = now;
  while (now < to) {
    const Cycle t = m.next;
    if (m.fault < std::min(t, to)) return together->end_on_fault(m.fault);
    if (t >= to) {
      if (to != kNever && (past_end || t != kNever)) now = to;
      shown = t == kNever ? kNever : now;
      break;
    }
    if (!world.watched && t >= world.horizon) look_ahead(t, to, unseen);
    step_blocks(t);
    m = exchange_together(t);
    shown = now = t + 1;
    if (m.fault <= t) return together->end_on_fault(m.fault);
    watch_fired = m.quiet == 0;
    if (watch_fired || (commands_armed && m.commands_done != 0) || (streams_armed && m.streams_done != 0)) {
      rewind_to_now();
      break;
    }
  }
  together->tell_news(shown);
}

// ---- what rank 0 hears

void Together::end_on_fault(Cycle cycle) {
  const auto mine = [&] {
    std::vector<Fault> found;
    if (m_.pending && m_.pending->cycle == cycle) found.push_back(*m_.pending);
    return found;
  };
  if (!leads()) {
    answer(mine());
    m_.faulted = true;
    m_.now = std::max(m_.now, cycle + 1);
    return tell_news(cycle + 1);
  }
  std::vector<Fault> found = mine();
  for (int rank = 1; rank < ranks_.count(); ++rank)
    for (Fault& f : received<std::vector<Fault>>(ranks_, rank)) found.push_back(std::move(f));
  CS_CHECK(!found.empty(), "a fault that all agree on is somebody's");
  m_.pending = *std::min_element(found.begin(), found.end(),
                                 [](const Fault& a, const Fault& b) { return a.before(b); });
  m_.declare_fault();
  tell_news(cycle + 1);
}

Together::News Together::news(Cycle printed_before) {
  News news{{m_.next_event(), m_.commands_pending(), m_.stream_words_pending()}, {}, {}};
  const auto to_come = std::stable_partition(m_.printed.begin(), m_.printed.end(),
                                             [&](const PrintLine& l) { return l.cycle < printed_before; });
  news.printed.assign(m_.printed.begin(), to_come);
  m_.printed.erase(m_.printed.begin(), to_come);
  for (size_t i = 0; i < m_.ports.size(); ++i) {
    const PortHome& home = m_.ports[i];
    if (home.block == nullptr || !m_.grid.owns(*home.block)) continue;
    const PortState& p = home.block->ports[home.index];
    size_t &received = told_received_[i], &entered = told_entered_[i];
    if (p.received.size() == received && p.entered.size() == entered) continue;
    news.ports.push_back({i,
                          {p.received.begin() + ptrdiff_t(received), p.received.end()},
                          {p.entered.begin() + ptrdiff_t(entered), p.entered.end()}});
    received = p.received.size();
    entered = p.entered.size();
  }
  return news;
}

void Together::tell_news(Cycle printed_before) {
  if (!leads()) {
    News mine = news(printed_before);
    return answer(mine.affairs, mine.printed, mine.ports);
  }
  affairs_ = {m_.next_event(), m_.commands_pending(), m_.stream_words_pending()};
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    const std::string bytes = ranks_.receive(rank);
    StateReader in(bytes);
    News of;
    unpack(in, of.affairs, of.printed, of.ports);
    affairs_.next = std::min(affairs_.next, of.affairs.next);
    affairs_.commands += of.affairs.commands;
    affairs_.stream_words += of.affairs.stream_words;
    std::move(of.printed.begin(), of.printed.end(), std::back_inserter(m_.printed));
    for (const PortNews& port : of.ports) {
      const PortHome& home = m_.ports[port.port];
      PortState& p = home.block->ports[home.index];
      p.received.insert(p.received.end(), port.received.begin(), port.received.end());
      p.entered.insert(p.entered.end(), port.entered.begin(), port.entered.end());
    }
  }
  affairs_known_ = true;
  m_.show_printed(printed_before);
}

// What is known of the host's side is what a checkpoint said.
void Together::restored() {
  for (size_t i = 0; i < m_.ports.size(); ++i) {
    const PortState& p = m_.ports[i].block->ports[m_.ports[i].index];
    told_received_[i] = p.received.size();
    told_entered_[i] = p.entered.size();
  }
}

// ---- what only one side of a border knows

// Whether somebody waits for room beyond the border: a lane's checkpoint says so.
void Together::share_waiters() {
  const Grid& grid = m_.grid;
  const int rows[] = {grid.first_row, grid.end_row - 1}, beyond[] = {grid.first_row - 1, grid.end_row};
  const auto blocks_of = [&](int row) {
    return std::span(grid.blocks).subspan(size_t(row) * size_t(grid.columns), size_t(grid.columns));
  };
  for (size_t side = 0; side < 2; ++side) {
    if (beyond[side] < 0 || beyond[side] >= grid.rows) continue;
    for (uint32_t column = 0; column < uint32_t(grid.columns); ++column) {
      const auto& b = blocks_of(rows[side])[column];
      for (uint32_t i = 0; b && i < b->mirrors.size(); ++i)
        if (b->mirrors[i].waiter && b->mirrors[i].side == (side == 0 ? Port::north : Port::south))
          borders_[side].out.insert(borders_[side].out.end(), {column, i});
    }
  }
  uint64_t nothing = 0;
  ranks_.round(borders_, std::span(&nothing, 1));
  for (size_t side = 0; side < 2; ++side) {
    if (beyond[side] >= 0 && beyond[side] < grid.rows)
      for (const auto& b : blocks_of(beyond[side]))
        for (Mirror& m : b ? std::span(b->mirrors) : std::span<Mirror>()) m.waiter = false;
    for (size_t at = 0; at < borders_[side].in.size(); at += 2)
      blocks_of(beyond[side])[borders_[side].in[at]]->mirrors[borders_[side].in[at + 1]].waiter = true;
    borders_[side].out.clear();
    borders_[side].in.clear();
  }
}

// ---- load

Together::Together(Engine::Impl& m, Ranks& ranks) : m_(m), ranks_(ranks) {}
Together::~Together() = default;

int Together::owner(const Block& b) const {
  const int row = b.rect.y / m_.grid.block_height;
  return int(std::upper_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin()) - 1;
}

void Together::begin_rounds() {
  ranks_.most_words(most_border_words(m_.grid));
  told_received_.assign(m_.ports.size(), 0);
  told_entered_.assign(m_.ports.size(), 0);
}

}  // namespace cs::sim

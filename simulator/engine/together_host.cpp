// Several ranks between cycles: what they have loaded, what rank 0 learns of the others, and how they answer.
#include <algorithm>

#include "runtime/support/files.h"
#include "simulator/engine/strips.h"
#include "simulator/engine/together_messages.h"

namespace cs::sim {
namespace {

// What must be the same on all ranks.
std::string identity(const Engine& e) {
  std::string allow;
  for (const std::string& fault : e.options().allow) allow += " " + fault;
  const std::string_view weights(reinterpret_cast<const char*>(e.weights().data()), e.weights().size());
  return version() + "\n" + wide_hash_text(program_bytes(e.program())) + "\n" + wide_hash_text(weights) + "\n" +
         wide_hash_text(machine_to_yaml(e.machine())) + "\n" + allow + "\n" + std::to_string(e.options().block_width) +
         "x" + std::to_string(e.options().block_height);
}

constexpr size_t kRows = 256;  // of counters that rank 0 keeps

}  // namespace

void end_followers(Ranks& ranks) {
  for (int rank = 1; rank < ranks.count(); ++rank) ranks.send(rank, packed(Asked::end));
}

void cannot_follow(Ranks& ranks, const std::string& why) { ranks.send(0, packed(why, std::string())); }

// ---- load

bool Together::cut(Diag& diag) {
  const auto strips = cut_strips(m_.world.program, m_.grid.block_height, ranks_.count(), diag);
  if (!strips) return false;
  first_row_ = strips->first_row;
  m_.grid.block_height = strips->block_height;
  m_.grid.first_row = first_row_[size_t(ranks_.rank())];
  m_.grid.end_row = first_row_[size_t(ranks_.rank()) + 1];
  return true;
}

// Rank 0 hears from all others, also if it cannot load itself: what is wrong is mostly wrong everywhere.
bool Together::meet(const Engine& engine, bool good, Diag& diag) {
  if (good) begin_rounds();
  const std::string mine = identity(engine);
  if (!leads()) {
    const std::string why = good ? "" : diag.to_string();
    answer(why, mine);
    return good;
  }
  for (int rank = 1; rank < ranks_.count(); ++rank) {
    const std::string bytes = ranks_.receive(rank);
    StateReader in(bytes);
    std::string why, its;
    unpack(in, why, its);
    const std::string who = "rank " + std::to_string(rank);
    if (good && !why.empty())
      diag.error_at(who, "cannot load the program: " + why, "every rank reads the same folder");
    else if (good && its != mine)
      diag.error_at(who, "has loaded another program, machine or version",
                    "all ranks need the same folder, options and build of cs-sim");
    good = good && why.empty() && its == mine;
  }
  return good;
}

// ---- rank 0

void Together::changed() {
  affairs_known_ = false;
  others_.reset();
  rows_.clear();
  whole_.reset();
}

const Affairs& Together::affairs() {
  if (affairs_known_) return affairs_;
  affairs_ = {m_.next_event(), m_.commands_pending(), m_.stream_words_pending()};
  for (const Affairs& of : ask_all<Affairs>(Asked::affairs)) {
    affairs_.next = std::min(affairs_.next, of.next);
    affairs_.commands += of.commands;
    affairs_.stream_words += of.stream_words;
  }
  affairs_known_ = true;
  return affairs_;
}

const Sums& Together::others() {
  if (others_) return *others_;
  others_.emplace();
  for (const Sums& of : ask_all<Sums>(Asked::sums)) {
    others_->hops += of.hops;
    others_->instructions += of.instructions;
    for (size_t i = 0; i < of.passed.size(); ++i) others_->passed[i] += of.passed[i];
    others_->memory += of.memory;
    others_->blocked |= of.blocked;
  }
  return *others_;
}

// Who wants the counters of one PE mostly wants its neighbours', too.
PeStats Together::stats(const Block& b, Coord c) {
  auto at = rows_.find(c.y);
  if (at == rows_.end()) {
    if (rows_.size() >= kRows) rows_.clear();
    at = rows_.emplace(c.y, ask<std::vector<PeStats>>(owner(b), Asked::stats, c.y)).first;
  }
  return at->second[size_t(c.x)];
}

std::vector<StripState> Together::strips() {
  const std::string bytes = packed(Asked::strip);
  for (int rank = 1; rank < ranks_.count(); ++rank) ranks_.send(rank, bytes);
  share_waiters();
  std::vector<StripState> all;
  for (int rank = 1; rank < ranks_.count(); ++rank) all.push_back(received<StripState>(ranks_, rank));
  return all;
}

void Together::read(const Block& b, Coord c, uint16_t address, std::span<uint8_t> out) {
  tell(owner(b), Asked::read, c, address, out.size());
  const std::string bytes = ranks_.receive(owner(b));
  CS_CHECK(bytes.size() == out.size(), "as many bytes as were asked for");
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

// For what looks at everything and is rarely asked for: who waits for whom, what is inside of PEs.
Engine& Together::whole() {
  if (whole_) return *whole_;
  EngineOptions options = m_.options;
  options.ranks = nullptr;
  auto engine = std::make_unique<Engine>(m_.world.machine, options);
  Diag diag;
  CS_CHECK(engine->load(m_.world.program, m_.world.weights, diag), "what all ranks have loaded can be loaded");
  std::string bytes;
  {
    StateWriter out([&](std::string_view more) { bytes += more; });
    write_state(m_, out);
  }
  StateReader in(bytes);
  CS_CHECK(engine->restore(in) && in.done(), "strips make a whole");
  whole_ = std::move(engine);
  return *whole_;
}

// ---- the others

void Engine::follow() {
  while (impl_->together->serve(*this)) {
  }
}

bool Together::serve(Engine& e) {
  const std::string bytes = ranks_.receive(0);
  StateReader in(bytes);
  Asked asked{};
  in(asked);
  if (asked == Asked::end) return false;
  if (asked != Asked::step) {
    CS_CHECK(serve_host(e, asked, in) || serve_counters(e, asked, in), "rank 0 asks for what there is");
    return true;
  }
  Cycle to = 0, unseen = 0;
  bool past_end = true;
  unpack(in, to, past_end, unseen);
  e.step(to, past_end, unseen);
  return true;
}

// What the host does.
bool Together::serve_host(Engine& e, Asked asked, StateReader& in) {
  std::vector<uint32_t> words;
  std::vector<uint8_t> data;
  Rect pes;
  Coord at;
  Cycle not_before = 0;
  int number = 0;
  uint8_t color = 0;
  uint16_t address = 0;
  size_t size = 0;
  bool flag = false;
  Diag diag;  // rank 0 finds the same
  switch (asked) {
    case Asked::read:
      unpack(in, at, address, size);
      data.resize(size);
      e.read(at, address, data);
      return ranks_.send(0, {reinterpret_cast<const char*>(data.data()), data.size()}), true;
    case Asked::write: return unpack(in, at, address, data), e.write(at, address, data), true;
    case Asked::launch:
      return unpack(in, number, words, pes, not_before), e.launch(number, words, pes, not_before), true;
    case Asked::send:
      unpack(in, number, words, not_before, flag);
      flag ? e.send_control(number, words.at(0), not_before) : e.send(number, words, not_before);
      return true;
    case Asked::keep_controls: return unpack(in, number), e.keep_controls(number), true;
    case Asked::accept: return unpack(in, number, size), e.accept(number, size), true;
    case Asked::watch: return unpack(in, number, size), e.watch(number, size), true;
    case Asked::watch_commands: return unpack(in, flag), e.watch_commands(flag), true;
    case Asked::watch_streams: return unpack(in, flag), e.watch_streams(flag), true;
    case Asked::stream_to:
      return unpack(in, color, pes, words, not_before), e.stream_to(color, pes, words, not_before, diag), true;
    case Asked::stream_from: {
      uint32_t per_pe = 0;
      return unpack(in, color, pes, per_pe, not_before), e.stream_from(color, pes, per_pe, not_before, diag), true;
    }
    case Asked::take_streamed: return unpack(in, color, at), answer(e.take_streamed(color, at)), true;
    case Asked::restore: {
      std::string bytes;
      unpack(in, bytes);
      StateReader state(bytes);
      return e.restore(state), true;
    }
    default: return false;
  }
}

// What it asks for.
bool Together::serve_counters(Engine& e, Asked asked, StateReader& in) {
  int row = 0;
  switch (asked) {
    case Asked::affairs:
      return answer(Affairs{m_.next_event(), m_.commands_pending(), m_.stream_words_pending()}), true;
    case Asked::tallies: return answer(own_totals(m_).tallies), true;
    case Asked::stats: {
      unpack(in, row);
      std::vector<PeStats> all;
      for (int x = 0; x < m_.grid.width; ++x) all.push_back(e.stats({x, row}));
      return answer(all), true;
    }
    case Asked::sums: {
      Sums sums{e.wavelet_hops(), e.instructions(), own_totals(m_).passed, e.memory_use(), e.blocked()};
      return answer(sums), true;
    }
    case Asked::leftovers: return answer(own_leftovers(m_)), true;
    case Asked::waiting: return answer(e.waiting()), true;
    case Asked::running: {
      Coord at;
      unpack(in, at);
      return answer(e.running(at)), true;
    }
    case Asked::strip:
      share_waiters();
      return answer(own_state(m_)), true;
    default: return false;
  }
}

}  // namespace cs::sim

// Shares of all PEs, those with equal programs found, and the parts of the streams that rows get.
#include "compiler/kernels/region_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/autogen/region_module.h"
#include "compiler/autogen/region_own.h"
#include "compiler/kernels/region_turns.h"
#include "compiler/kernels/roles.h"

namespace cs::kernels {

namespace {

using autogen::Region;
using autogen::RegionCut;
using autogen::RegionShare;
using autogen::Runs;
using autogen::Turns;
using autogen::Walk;

// Of row_feeder.csl: loops, and where the words of a run and the numbers of the loops are.
constexpr size_t kWalkLoops = 3, kWalkFirst = 0, kWalkRun = 1, kWalkBefore = 3;
// Of row_collector.csl.
constexpr size_t kTurnWords = 0, kTurnsOfVisit = 1;

// Programs of one region, which are compiled one by one; if there were more, numbers by which they differ become words
// of the PEs (region_own.h).
constexpr size_t kMostPrograms = 64;

int64_t runs_of_walk(const std::vector<uint32_t>& walk) {
  int64_t runs = 1;
  for (size_t k = 0; k < kWalkLoops; ++k) runs *= walk[kWalkBefore + 2 * k];
  return runs;
}

class LayOut {
 public:
  LayOut(const Region& r, const RegionCut& cut, bool own_numbers) : r_(r), cut_(cut), own_numbers_(own_numbers) {
    made_.w = cut.w();
    made_.h = cut.h();
  }

  // None: of too many programs.
  std::optional<RegionLayout> run() {
    for (int y = 0; y < made_.h; ++y) {
      row(y);
      if (!own_numbers_ && kinds_.size() > kMostPrograms) return std::nullopt;
    }
    if (own_numbers_) use_own_numbers();
    made_.in_order = r_.result_buffer.size() == 1 && in_order(parts_);
    if (made_.in_rows() && takes_in_turn()) {
      for (size_t k = 0; k < r_.operands.size(); ++k) made_.turns.push_back(longest_run(k));
      made_.one_turn = one_turn();
    }
    if (made_.in_rows()) made_.block = held_block(r_, cut_);
    return std::move(made_);
  }

 private:
  void row(int y) {
    std::vector<RegionShare> shares;
    for (int x = 0; x < made_.w; ++x) {
      shares.push_back(autogen::shard_region(r_, cut_, x, y));
      receive_in_place(r_, shares.back());
    }
    std::vector<Runs> streams = row_streams(shares);
    for (RegionShare& share : shares) {
      RegionPe p;
      for (size_t i = 0; i < streams.size(); ++i) {
        share.walks.emplace_back();
        walk(share, i, streams[i], share.walks.back());
        p.filters.push_back(filter_operand(i, share.walks.back()));
        keep(share, i, streams[i]);
      }
      parts_.push_back(part(share));
      pe(share, std::move(p));
    }
    if (!made_.in_rows()) return;
    feeder(streams);
    collector(y);
  }

  // Several operands, of which every row has equally many runs.
  bool takes_in_turn() const {
    for (size_t k = 0; k < r_.operands.size(); ++k)
      if (r_.stays_for(k) > 1) return false;
    return r_.operands.size() > 1 && std::ranges::all_of(made_.feeders, [](const StreamWords& row) {
             return std::ranges::all_of(row, [&](const std::vector<uint32_t>& walk) {
               return walk[kWalkRun] > 0 && runs_of_walk(walk) == runs_of_walk(row.front());
             });
           });
  }
  int64_t longest_run(size_t operand) const {
    uint32_t most = 0;
    for (const StreamWords& row : made_.feeders) most = std::max(most, row[operand][kWalkRun]);
    return most;
  }
  // A run of each operand and a turn of the only result for each row and sample, in the order of rows.
  bool one_turn() const {
    if (r_.result_buffer.size() != 1 || runs_of_walk(made_.feeders.front().front()) != 1) return false;
    int64_t sent = 0;
    for (const StreamWords& row : made_.collectors) {
      if (row[0][kTurnsOfVisit] != 1) return false;
      sent += row[0][kTurnWords];
    }
    if (sent != r_.elements(r_.result_buffer.front())) return false;
    for (size_t y = 1; y < made_.feeders.size(); ++y)
      for (size_t k = 0; k < r_.operands.size(); ++k)
        if (made_.feeders[y][k][kWalkFirst] < made_.feeders[y - 1][k][kWalkFirst]) return false;
    return true;
  }

  // Where the words are that a PE keeps and sends.
  struct Part {
    std::vector<int64_t> behind;  // by operand
    int64_t sent = -1, runs = 0;  // first word of the result, -1: none; runs of it
  };
  Part part(const RegionShare& share) const {
    Part p;
    for (const int b : r_.operand_buffer) {
      const Runs& stored = share.stored[size_t(b)];
      p.behind.push_back(stored.empty() ? 0 : stored.last() + 1);
    }
    const Runs& sent = share.sent.front();
    if (!sent.empty()) p.sent = sent.first(), p.runs = sent.count();
    return p;
  }
  static bool in_order(std::vector<Part> parts) {
    std::erase_if(parts, [](const Part& p) { return p.sent < 0; });
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.sent < b.sent; });
    for (size_t k = 0; k < parts.size(); ++k) {
      if (parts[k].runs > 1) return false;
      for (size_t i = 0; k > 0 && i < parts[k].behind.size(); ++i)
        if (parts[k].behind[i] < parts[k - 1].behind[i]) return false;
    }
    return true;
  }

  // What the PE keeps of operand i's stream.
  bool walk(const RegionShare& share, size_t i, const Runs& stream, Walk& walk) const {
    int b = r_.operand_buffer[i];
    const Runs& stored = share.stored[size_t(b)];
    if (stored.empty()) return walk_of(stored, stream, walk);
    return walk_of(stored.first(), share.receive[i].moves, stream, walk);
  }

  // What passes the PEs of a row of every operand.
  std::vector<Runs> row_streams(const std::vector<RegionShare>& shares) const {
    std::vector<Runs> list;
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      int b = r_.operand_buffer[i];
      Runs all = autogen::interval(0, r_.elements(b) - 1), together;
      for (const RegionShare& s : shares)
        together = autogen::hull(together, s.stored[size_t(b)], r_.elements(b));
      list.push_back(made_.in_rows() ? passable(together, shares, i) : all);
    }
    // A row that computes from constants alone gets a word as well: it may not begin before the sample.
    if (std::all_of(list.begin(), list.end(), [](const Runs& s) { return s.empty(); }))
      list.front() = autogen::interval(0, 0);
    return list;
  }
  Runs passable(const Runs& together, const std::vector<RegionShare>& shares, size_t i) const {
    Walk ignored;
    for (const RegionShare& s : shares) {
      if (!walk(s, i, together, ignored)) return autogen::interval(together.first(), together.last());
    }
    return together;
  }

  // What a filter does not reject in front of a PE's own words, or behind them, the PE lets pass: it waits for that
  // too.
  void keep(const RegionShare& share, size_t i, const Runs& stream) {
    made_.kept.resize(r_.operands.size());
    const Runs& stored = share.stored[size_t(r_.operand_buffer[i])];
    const Walk& walk = share.walks[i];
    if (stream.empty() || (stored.empty() && arrival_of(walk) == autogen::Arrival::never)) return;
    const bool all = stored.empty();
    const int64_t first = all || walk.before > 0 ? stream.first() : stored.first(),
                  behind = (all || walk.after > 0 ? stream.last() : stored.last()) + 1;
    KeptPart& kept = made_.kept[i];
    kept.first = kept.behind == 0 ? first : std::min(kept.first, first);
    kept.behind = std::max(kept.behind, behind);
    kept.longest = std::max(kept.longest, behind - first);
  }

  void pe(RegionShare& share, RegionPe p) {
    p.data = autogen::pe_words(share);
    size_t control = p.data.size() - 2 * share.turns.size();
    for (const Turns& t : share.turns) {
      p.data[control++] = turn_word(t.inner_place, t.inner_places);
      p.data[control++] = turn_word(t.place, t.places);
    }
    for (int b : r_.constant_buffer) p.constants.push_back(of_all_parts(b, share.stored[size_t(b)]));
    RegionShare local = autogen::local_share(share);
    if (own_numbers_) numbers_.push_back(autogen::take_own_numbers(local));
    auto same = std::find_if(kinds_.begin(), kinds_.end(),
                             [&](const RegionShare& k) { return autogen::same_program(k, local); });
    p.kind = int(same - kinds_.begin());
    if (same == kinds_.end()) {
      kinds_.push_back(std::move(local));
      made_.kinds.push_back(std::move(share));
    }
    made_.pes.push_back(std::move(p));
  }

  // Those that differ among the PEs of a kind are words of each of them.
  void use_own_numbers() {
    std::vector<std::vector<int64_t>> first(kinds_.size());
    std::vector<std::vector<bool>> own(kinds_.size());
    for (size_t k = 0; k < made_.pes.size(); ++k) {
      const size_t kind = size_t(made_.pes[k].kind);
      if (own[kind].empty()) first[kind] = numbers_[k], own[kind].resize(numbers_[k].size());
      for (size_t n = 0; n < own[kind].size(); ++n)
        if (numbers_[k][n] != first[kind][n]) own[kind][n] = true;
    }
    for (size_t kind = 0; kind < own.size(); ++kind) autogen::use_own_numbers(made_.kinds[kind], own[kind]);
    for (size_t k = 0; k < made_.pes.size(); ++k)
      for (size_t n = 0; n < numbers_[k].size(); ++n)
        if (own[size_t(made_.pes[k].kind)][n]) made_.pes[k].data.push_back(uint32_t(numbers_[k][n]));
  }

  // What a PE holds of a constant: of one that falls into parts, its words of all of them, part after part.
  Runs of_all_parts(int buffer, Runs part) const {
    if (const int64_t parts = r_.parts_of(buffer); parts > 1 && !part.empty())
      part.levels.insert(part.levels.begin(), autogen::Level{r_.elements(buffer), 0, parts});
    return part;
  }

  void feeder(const std::vector<Runs>& streams) {
    StreamWords all;
    std::vector<autogen::StreamFilter> filters;
    for (size_t i = 0; i < streams.size(); ++i) {
      Walk walk;
      walk_of(streams[i], autogen::interval(0, r_.elements(r_.operand_buffer[i]) - 1), walk);
      filters.push_back(autogen::filter_walk(walk));  // only one operand comes to a feeder
      std::vector<uint32_t> words = {uint32_t(walk.before), uint32_t(walk.run), uint32_t(walk.after)};
      for (size_t k = 0; k < kWalkLoops; ++k) {
        Walk::Loop loop = k < walk.loops.size() ? walk.loops[k] : Walk::Loop{};
        words.insert(words.end(), {uint32_t(loop.count), uint32_t(loop.gap)});
      }
      all.push_back(words);
    }
    made_.feeders.push_back(all);
    made_.feeder_filters.push_back(filters);
  }

  void collector(int y) {
    StreamWords all;
    for (int b : r_.result_buffer) {
      Turns t, second;
      turns_of(r_.elements(b), cut_, true, 0, y, t);
      turns_of(r_.elements(b), cut_, true, 0, 1, second);
      if (second.words == 0) t.inner_places = t.places = 1;  // the first row sends all: nobody takes turns
      all.push_back({uint32_t(t.words), uint32_t(t.turns), turn_word(t.inner_place, t.inner_places),
                     turn_word(t.place, t.places)});
    }
    made_.collectors.push_back(all);
  }

  const Region& r_;
  const RegionCut& cut_;
  const bool own_numbers_;
  RegionLayout made_;
  std::vector<Part> parts_;         // by PE, row by row
  std::vector<RegionShare> kinds_;  // with local addresses, to compare
  std::vector<std::vector<int64_t>> numbers_;  // by PE: what may be its own
};

}  // namespace

int64_t RegionLayout::row_words(size_t operand, int y) const {
  const std::vector<uint32_t>& walk = feeders[size_t(y)][operand];
  return walk[kWalkRun] * runs_of_walk(walk);
}

autogen::StreamFilter filter_operand(size_t operand, autogen::Walk& walk) {
  constexpr size_t kFilters = 3;  // routers have at least four, one is for the host
  return operand < kFilters ? autogen::filter_walk(walk) : autogen::StreamFilter{};
}

RegionLayout lay_out(const Region& r, const RegionCut& cut) {
  std::optional<RegionLayout> made = LayOut(r, cut, false).run();
  return std::move(made ? made : LayOut(r, cut, true).run()).value();
}

}  // namespace cs::kernels

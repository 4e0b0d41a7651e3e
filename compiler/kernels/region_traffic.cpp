// What a cut of a region costs: how long its PEs wait for words, compute and send, and what they hold.
#include "compiler/kernels/region_traffic.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "compiler/autogen/region_estimate.h"
#include "compiler/autogen/region_module.h"
#include "compiler/autogen/stream_filter.h"
#include "compiler/kernels/choice.h"
#include "compiler/kernels/region_coming.h"
#include "compiler/kernels/region_kept.h"
#include "compiler/kernels/region_layout.h"
#include "compiler/kernels/region_places.h"
#include "compiler/kernels/region_turns.h"

namespace cs::kernels {

namespace {

using autogen::Region;
using autogen::RegionCut;
using autogen::RegionShare;
using autogen::Runs;
using autogen::StatementCosts;
using autogen::Walk;

constexpr double kRunCycles = 40;        // of a PE between two runs that it keeps or sends
// Between the last word of a collector and the next one's first, by which rectangles are chosen; where all have their
// words before their turn comes 1.0 to 1.7, of seven cuts of convolutions.
constexpr double kTurnCycles = 5, kTurnReady = 1.5;
constexpr double kCollectorCycles = 53;  // of a collector itself for a turn, beside the words
constexpr double kFeederCycles = 250;    // of a feeder for a run and the gap behind it
constexpr double kShared = 0.5;   // of the results' words that a stream waits for where it shares their links
constexpr double kAskCycles = 6;  // of a PE that asks for an operand in one step: two loads, the start
constexpr double kJoinCycles = 6;  // of the task that joins two operands: three instructions and its start
constexpr double kOperandCycles = 92;  // of a PE that asks for an operand in steps and hears that it has come
constexpr double kStepsOverhead = 40,
                 kStepOverhead = 20;  // of that, what passes while it computes; of each of them
constexpr int64_t kQueued = 4;        // words on their way to a PE that does not take them yet

// What the busiest PE takes and holds.
struct Busiest {
  double compute = 0, runs_out = 0;
  std::vector<double> gaps_in;  // between runs that it keeps, by operand
  double asking = 0;      // cycles for operands in steps whose words come at once, beyond those of that task
  double asks = 0;        // cycles for operands in one step, beyond the first one
  double joining = 0;     // cycles of the tasks that join operands, behind the last word
  double overhead = 0;    // of tasks, calls and turns
  bool in_steps = false;  // some operand comes in runs that it keeps and words that it lets pass
  double span = 0;        // cycles_within_span
  bool half_row = false;  // what it keeps of some operand lies over half of its row's part, or more
  bool whole = false;     // it keeps words from the beginning of an operand to its end
  double spread = 0;      // if measured: cycles from the first run that it sends to the last one
  double rounds_out = 0;  // if measured: how often the turns of the rows go round
  uint32_t bytes = 0, code = 0;
};

double runs_of_walk(const Walk& walk) {
  double runs = 1;
  for (const Walk::Loop& l : walk.loops) runs *= double(l.count);
  return runs;
}

// What the PE keeps of an operand, of what passes its row and its router does not reject.
Walk kept_walk(const Region& r, const RegionShare& share, size_t operand, const Runs& passing) {
  const int b = r.operand_buffer[operand];
  Walk walk;
  const std::vector<autogen::Moves>& moves = share.receive[operand].moves;
  const int64_t first = share.stored[size_t(b)].first();
  if (!walk_of(first, moves, passing, walk))  // then the row passes all that lies between
    walk_of(first, moves, autogen::interval(passing.first(), passing.last()), walk);
  filter_operand(operand, walk);
  return walk;
}

// Finds the busiest PE of those that are looked at.
class Busy {
 public:
  Busy(const Region& r, const RegionCut& cut, Coming coming, const RowStreams& passing, Kept& kept,
       StatementCosts& costs)
      : r_(r), cut_(cut), coming_(coming), passing_(passing), kept_(kept), costs_(costs) {}

  Busiest run(Look look) {
    for (auto [x, y] : places_of(r_, cut_, look)) pe(x, y);
    // The start of the task and its end, that it asks, and the start of the instruction that sends.
    b_.overhead = 20 + asks_in_task_ + kRunCycles / 2 * b_.runs_out;
    return b_;
  }

 private:
  void pe(int x, int y) {
    RegionShare share = autogen::shard_region(r_, cut_, x, y);
    kept_.note(x, y, share);
    receive_in_place(r_, share);
    double out = 0;
    for (size_t i = 0; i < r_.operands.size(); ++i) {
      const int k = r_.operand_buffer[i];
      const Runs& stored = share.stored[size_t(k)];
      b_.span = std::max(b_.span, cycles_within_span(r_, coming_, stored));
      if (!stored.empty())
        b_.half_row = b_.half_row || 2 * (stored.last() - stored.first() + 1) >= passing_[i].words();
      const int64_t n = r_.elements(k);
      b_.whole = b_.whole || (n > kQueued && !stored.empty() && stored.last() - stored.first() + 1 == n);
    }
    if (y == cut_.h() / 2) receive(share);
    for (const Runs& sent : share.sent) out += double(sent.count());
    b_.runs_out = std::max(b_.runs_out, out);
    const autogen::RegionEstimate e = estimate_region(r_, std::move(share), costs_);
    b_.compute = std::max(b_.compute, e.compute_cycles);
    b_.bytes = std::max(b_.bytes, uint32_t(std::min<int64_t>(e.words * 4, INT32_MAX)));
    b_.code = std::max(b_.code, e.code_bytes);
  }
  // It asks for the first words of an operand, is called when they are there, and again after each gap. What
  // lies before and behind its words it lets pass. While it asks for others the first one's words come.
  void receive(const RegionShare& share) {
    double asking = 0, in_steps = 0, at_once = 0;
    b_.gaps_in.resize(r_.operands.size());
    for (size_t k = 0; k < r_.operands.size(); ++k) {
      Walk walk;
      walk.before = 1;  // all that comes is passed over
      if (!share.stored[size_t(r_.operand_buffer[k])].empty()) walk = kept_walk(r_, share, k, passing_[k]);
      b_.gaps_in[k] = std::max(b_.gaps_in[k], (runs_of_walk(walk) - 1) / double(r_.stays_for(k)));
      if (autogen::arrival_of(walk) == autogen::Arrival::at_once) {
        ++at_once;
        continue;
      }
      if (r_.stays_for(k) > 1) continue;  // seldom
      asking += kOperandCycles + kRunCycles * (int(walk.before > 0) + int(walk.after > 0));
      ++in_steps;
      b_.in_steps = true;
    }
    const double events = double(r_.operands.size()) - std::max(0.0, in_steps - 1);
    const double meanwhile = in_steps > 0 ? kStepsOverhead + kStepOverhead * in_steps : 0;
    const double first = std::min(1.0, at_once);
    b_.asking = std::max(b_.asking, std::max(0.0, asking - meanwhile));
    b_.asks = std::max(b_.asks, kAskCycles * (at_once - first));
    b_.joining = std::max(b_.joining, kJoinCycles * std::max(0.0, events - 2));
    asks_in_task_ = std::max(asks_in_task_, kAskCycles * first + meanwhile);
  }

  const Region& r_;
  const RegionCut& cut_;
  Coming coming_;
  const RowStreams& passing_;
  Kept& kept_;
  StatementCosts& costs_;
  Busiest b_;
  double asks_in_task_ = 0;  // cycles of asking in which nothing else comes or goes
};

constexpr int kLines = 16;  // rows, or PEs of a single one, that are looked at

// Parts of the stream at which rows begin, or the PEs of a single row: those that are nearer than a feeder or
// a PE takes to turn from one run to the next count as one. Of the first ones.
double share_of_starts(const RegionCut& cut, size_t operand, Kept& kept) {
  const bool rows = cut.h() > 1;
  std::vector<int64_t> starts;
  for (int k = 0; k < std::min(rows ? cut.h() : cut.w(), kLines); ++k) {
    const Runs& stored = kept.of(operand, rows ? 0 : k, rows ? k : 0);
    if (!stored.empty()) starts.push_back(stored.first());
  }
  std::sort(starts.begin(), starts.end());
  const double lines = double(starts.size());
  const auto near = [](int64_t x, int64_t y) { return double(y - x) < kRunCycles; };
  starts.erase(std::unique(starts.begin(), starts.end(), near), starts.end());
  return lines == 0 ? 0 : double(starts.size()) / lines;
}

// Runs of a row's part of an operand that its feeder sees.
double runs_of_row(const Region& r, size_t operand, const Runs& stream) {
  Walk walk;
  walk_of(stream, autogen::interval(0, r.elements(r.operand_buffer[operand]) - 1), walk);
  filter_operand(operand, walk);
  return runs_of_walk(walk);
}

// All that lies between, where some PE's words do not lie in it as in what all of them keep together.
void fit_row(const Region& r, const RegionCut& cut, int y, RowStreams& list) {
  for (int k = 0; k < std::min(cut.w(), kLines); ++k) {
    RegionShare share = autogen::shard_region(r, cut, k, y);
    autogen::receive_in_place(r, share);
    for (size_t i = 0; i < list.size(); ++i) {
      const Runs& stored = share.stored[size_t(r.operand_buffer[i])];
      Walk ignored;
      if (!stored.empty() && !walk_of(stored.first(), share.receive[i].moves, list[i], ignored))
        list[i] = autogen::interval(list[i].first(), list[i].last());
    }
  }
}

RowStreams row_hulls(const Region& r, const RegionCut& cut, Kept& kept) {
  RowStreams list;
  const int y = cut.h() / 2;
  for (size_t k = 0; k < r.operands.size(); ++k) {
    const int64_t n = r.elements(r.operand_buffer[k]);
    list.push_back(cut.h() == 1 ? autogen::interval(0, n - 1)
                                : hull(kept.of(k, 0, y), kept.of(k, cut.w() - 1, y), n));
  }
  return list;
}

RowStreams row_streams(const Region& r, const RegionCut& cut, Kept& kept) {
  RowStreams list = row_hulls(r, cut, kept);
  if (cut.h() > 1) fit_row(r, cut, cut.h() / 2, list);
  return list;
}

// Runs that the feeder of a row sees, by operand; none without feeders.
std::vector<double> feeder_runs(const Region& r, const RegionCut& cut, const RowStreams& streams) {
  std::vector<double> list;
  for (size_t k = 0; k < r.operands.size() && cut.h() > 1; ++k)
    list.push_back(1 + (runs_of_row(r, k, streams[k]) - 1) / double(r.stays_for(k)));
  return list;
}

// Cycles for which operand k's stream stops because PEs and the feeders of rows see gaps between their runs:
// while one of them turns to its next run, all that come behind it wait, and those of other rows.
double stream_stops(const RegionCut& cut, size_t k, double gaps_in, double feeder_runs, Kept& kept) {
  if (gaps_in == 0 && feeder_runs <= 1) return 0;
  const double share = share_of_starts(cut, k, kept);
  const double pes = kRunCycles * gaps_in * std::max(1.0, (cut.h() > 1 ? cut.h() : cut.w()) * share);
  return pes + (feeder_runs > 1 ? 2 * kRunCycles * feeder_runs * cut.h() * share : 0);
}

// Cycles for which streams stop, where all share their links one after the other.
double stops_of(const RegionCut& cut, const Busiest& b, const std::vector<double>& feeder_runs, Kept& kept) {
  double all = 0;
  for (size_t k = 0; k < b.gaps_in.size(); ++k) {
    const double stops = stream_stops(cut, k, b.gaps_in[k], feeder_runs.empty() ? 1 : feeder_runs[k], kept);
    all = coming_to(cut) == Coming::together ? all + stops : std::max(all, stops);
  }
  return all;
}

// What the busiest feeder of a row does, one run after the other. A stream without gaps costs it less than
// its words do.
double feeder_cycles(const std::vector<double>& runs) {
  return runs.empty() ? 0 : kFeederCycles * (*std::max_element(runs.begin(), runs.end()) - 1);
}

// Of several long operands rows take one run each in turn (mapping/operand_turns.h). Several runs that come to
// a row in step share its links, and all rows wait.
double in_step(const Region& r, const RegionCut& cut, const std::vector<double>& runs) {
  if (r.operands.size() < 2 || std::ranges::all_of(runs, [](double n) { return n == 1; })) return 0;
  double all = 0;
  for (size_t k = 0; k < r.operands.size(); all += r.words_a_round(k++))
    if (r.stays_for(k) > 1 || r.words_a_round(k) < kShortestPart * cut.h()) return 0;
  return all;
}

}  // namespace

RowStreams row_streams(const Region& r, const RegionCut& cut) {
  Kept kept(r, cut);
  return row_streams(r, cut, kept);
}

RowStreams row_hulls(const Region& r, const RegionCut& cut) {
  Kept kept(r, cut);
  return row_hulls(r, cut, kept);
}

double words_of(const Region& r, const RowStreams& streams) {
  double all = 0;
  for (size_t i = 0; i < streams.size(); ++i) all += double(streams[i].words()) / double(r.stays_for(i));
  return all;
}

bool feeders_stop(const Region& r, const RegionCut& cut, const RowStreams& streams) {
  const std::vector<double> runs = feeder_runs(r, cut, streams);
  for (size_t k = 0; k < runs.size(); ++k) {
    if (runs[k] == 1) continue;
    for (int y = 0; y < std::min(cut.h(), kLines); ++y)
      if (!shard_region(r, cut, 0, y).stored[size_t(r.operand_buffer[k])].empty()) return true;
  }
  return false;
}

namespace {

// Where the turns of the rows go round several times, as those of a transposed result do: the last PE of a row
// sends behind PEs of the rows below, computes its next sample then, and its row has room for the one behind that
// when it has. Two samples on, the first PE of that row, or of the last one, has its turn: cycles from the one turn
// to the other, and those of the words between them. Both compute meanwhile.
double in_rounds(const Busiest& b, int rows, double in, double out) {
  const double turns = b.rounds_out * rows, behind = turns - rows + 1;
  return std::max(out * behind / turns + b.span, out * std::max(0.0, behind - rows + 1) / turns + in);
}

// Cycles beside computing in which a PE waits and sends.
//
//   own       from the first word that it keeps to the last one, or as long as it takes to ask for all
//   operands
//             in steps and to hear that they have come, and its part of the results; while it waits others
//             may send over the same links (`shared`). Asking for operands in one step and joining them takes
//             no words' place, so its results leave meanwhile
//   together  PEs whose words lie between each other's take a sample together: none begins to compute before
//             all have room for it, and the last one has room when it has computed, behind the turns of the
//             others. Two samples on, the first one has waited for the turns and for the words once, so half
//             of that comes to each.
//
// One that sends several runs waits for the turns of all in any case, `sending` cycles; so do rows that all
// take some operand to its end, whatever lies of the others between. And where an operand comes in several
// steps nothing comes while a PE of a row sends: it takes the next step when it has sent.
double waiting(const Region& r, const RegionCut& cut, const Busiest& b, double in, double stops,
               double shared, double sending) {
  const double out = double(r.words_out());
  const double words = std::max(b.span, b.asking);
  const double own = std::max({words + stops + out / (double(cut.w()) * cut.h()) + shared,
                               std::max(words + stops, b.asks) + b.joining, b.spread});
  if (b.in_steps && cut.h() == 1 && cut.w() > 1) return std::max({own, in + sending, words + sending});
  if (b.runs_out > 1 || (b.whole && cut.h() > 1)) return std::max(own, (in + sending) / 2);
  if (b.rounds_out > 1) return std::max(own, in_rounds(b, cut.h(), in, out) / 2);
  const double between = std::min(1.0, b.span / std::max(1.0, in - stops - b.span));
  return cut.w() * cut.h() == 1 ? own : std::max(own, (b.span + stops + between * out) / 2);
}

// `turns`: of all collectors, and the cycles of one.
RegionPlan plan_with(const Region& r, const RegionCut& cut, const Busiest& b, Coming coming, double stops,
                     double shared, double turns, double turn_cycles) {
  RegionPlan p;
  p.cut = cut;
  p.plan.cut.w = cut.w();
  p.plan.cut.h = cut.h();
  p.plan.memory.users = {{"tensors", b.bytes}, {"code", b.code}};
  p.plan.memory.total = b.bytes + b.code;
  const double out = double(r.words_out()), in = stops + cycles_in(r, coming);
  const double sending = std::max(out, (out + kCollectorCycles * turns) / cut.h());
  p.plan.interval_cycles = std::max({b.compute + waiting(r, cut, b, in, stops, shared, sending) + b.overhead,
                                     in, sending, out + turn_cycles * turns});
  p.plan.latency_cycles = in + staying_words(r) + b.compute + out + b.overhead + b.runs_out * p.plan.cut.w;
  return p;
}

// What rectangles are not chosen by. A PE that sends several runs computes nothing from the first of them to
// the last one. The operands of a rectangle have columns of feeders of their own, but a row's parts of them
// share its links: PEs that wait for half of such a part or more wait for all of them, one behind the other
// when the streams have parted. A first run that is held on the way comes while the PE computes.
void add_walked(const Region& r, const RegionCut& cut, const RowStreams& row, const Machine& machine,
                Busiest& b) {
  const double pes = double(cut.w()) * cut.h();
  if (b.runs_out > 1) b.spread = double(r.words_out()) * (b.runs_out - 1 + 1 / pes) / b.runs_out;
  b.rounds_out = collector_turns(r, cut) / (double(cut.h()) * double(r.results.size()));
  if (coming_to(cut) == Coming::together) return;
  b.span -= std::min(b.compute, come_early(row, machine));
  if (b.half_row) b.span = std::max(b.span, words_of(r, row));
}

}  // namespace

RegionPlan plan_unlaid(const Region& r, const RegionCut& cut, StatementCosts& costs) {
  Kept kept(r, cut);
  const Coming coming = cut.axes.empty() ? Coming::together : Coming::apart;  // it may not be a row
  Busiest b = Busy(r, cut, coming, row_streams(r, cut, kept), kept, costs).run(Look::few);
  b.in_steps = false;
  return plan_with(r, cut, b, coming, kRunCycles * std::accumulate(b.gaps_in.begin(), b.gaps_in.end(), 0.0),
                   0, 0, kTurnCycles);
}

RegionPlan plan_cut(const Region& r, const RegionCut& cut, StatementCosts& costs, Look look,
                    const PeSample* measured) {
  Kept kept(r, cut);
  const RowStreams row = row_streams(r, cut, kept);
  Busiest b = Busy(r, cut, coming_to(cut), row, kept, costs).run(look);
  if (measured != nullptr) {
    b.compute = measured->compute, b.asking = measured->asking;
    b.asks = b.joining = b.overhead = 0;
    add_walked(r, cut, row, costs.machine(), b);
  }
  const std::vector<double> runs = feeder_runs(r, cut, row);
  const double stops = stops_of(cut, b, runs, kept), out = double(r.words_out());
  // While a PE waits others send over the same links. In some row results leave at any time, by the links
  // that bring it its part of the operands.
  const double shared = std::min(b.span + stops, out) / cut.h() * (1 - 1 / double(cut.w()));
  RegionPlan p = plan_with(r, cut, b, coming_to(cut), stops, kShared * shared, collector_turns(r, cut),
                           turn_cycles(r, cut, measured != nullptr ? kTurnReady : kTurnCycles));
  const double links = out / cut.h() + words_of(r, row) + b.runs_out * cut.w();
  p.plan.interval_cycles =
      std::max({p.plan.interval_cycles, links, feeder_cycles(runs), in_step(r, cut, runs)});
  if (measured != nullptr) p.plan.computing_cycles = b.compute;
  return p;
}

}  // namespace cs::kernels

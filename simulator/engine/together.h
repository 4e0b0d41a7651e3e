// Together: this rank's engine among those of other ranks (ranks.h).
//
// Time: all ranks are in the same cycle. They step the blocks of their strips, then swap in one message per neighbour
// what crossed the border, and agree in the same round on the next cycle in which anybody has something to do.
// Host: rank 0 is the host's end. What it is asked to do, it tells the ranks that have a part in it; what it is asked
// for, it has or asks them. Messages have the form of archive.h and begin with what is asked.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/engine.h"
#include "simulator/engine/fabric.h"
#include "simulator/engine/ranks.h"
#include "simulator/engine/world.h"

namespace cs::sim {

enum class Asked : uint8_t {
  end,
  step,
  affairs,
  read,
  write,
  launch,
  tallies,
  send,
  keep_controls,
  accept,
  watch,
  watch_commands,
  watch_streams,
  stream_to,
  stream_from,
  take_streamed,
  stats,
  sums,
  leftovers,
  waiting,
  running,
  strip,
  restore,
};

// What all ranks agree on at the end of a cycle; each value is the least of theirs.
struct Moment {
  Cycle next = kNever;    // the next cycle in which something can happen, before borders were swapped
  Cycle effect = kNever;  // and of what crosses them, at the earliest
  Cycle fault = kNever;   // of the earliest fault found
  uint64_t quiet = 1;     // 0: a watched port has what is waited for
  uint64_t commands_done = 1, streams_done = 1;  // 0: not yet
};

// What rank 0 must know of another one to go on.
struct Affairs {
  Cycle next = kNever;
  size_t commands = 0, stream_words = 0;
};

// Counters over the PEs of a strip.
struct Sums {
  uint64_t hops = 0, instructions = 0;
  std::array<uint64_t, size_t(Allowable::count)> passed{};
  MemoryUse memory;
  bool blocked = false;
};

// What a checkpoint says of all PEs together, of those of a strip.
struct StripTotals {
  std::vector<PrintLine> printed;
  std::vector<Fault> pending;  // none or one
  uint64_t instructions = 0;
  std::array<uint64_t, size_t(Allowable::count)> passed{};
  std::vector<LaunchTally> tallies;
  void add(const StripTotals&);
};
// And all of its state: StripTotals, PEs row by row, its ports.
struct StripState {
  StripTotals totals;
  std::string places;
  std::vector<std::string> ports;  // of the Program; empty: another strip's
};

StripTotals own_totals(const Engine::Impl&);
StripState own_state(Engine::Impl&);
std::vector<PrintLine> own_leftovers(const Engine::Impl&);  // "printed" in cycle 0
// All of the state, of other strips too.
void write_state(Engine::Impl&, StateWriter&);

class Together {
 public:
  Together(Engine::Impl&, Ranks&);
  ~Together();

  // ---- load: cuts the grid, then compares what the ranks have loaded
  bool cut(Diag&);
  bool meet(const Engine&, bool good, Diag&);

  bool leads() const { return ranks_.rank() == 0; }
  int owner(const Block&) const;
  Ranks& ranks() { return ranks_; }

  // ---- one cycle
  Cycle least(Cycle);
  void agree(Moment&);
  // What leaves the strip; the neighbour's block in that column gets it when borders are swapped.
  void pack(const Outbox&, Port side, int column, Cycle t);
  void swap_borders(Moment&, Cycle t);
  // At the end of a stretch: rank 0 hears what happened, and shows lines that were printed before this cycle.
  void tell_news(Cycle printed_before);
  void end_on_fault(Cycle);

  // ---- rank 0
  template <class... T>
  void tell(int rank, Asked, const T&... what);
  template <class... T>
  void tell_all(Asked, const T&... what);
  template <class Answer, class... T>
  Answer ask(int rank, Asked, const T&... what);
  template <class Answer, class... T>
  std::vector<Answer> ask_all(Asked, const T&... what);
  template <class... T>
  void tell_owner(const Block& b, Asked asked, const T&... what) {
    tell(owner(b), asked, what...);
    changed();
  }
  template <class Answer, class... T>
  Answer ask_owner(const Block& b, Asked asked, const T&... what) {
    return ask<Answer>(owner(b), asked, what...);
  }
  void read(const Block&, Coord, uint16_t address, std::span<uint8_t> out);
  const Affairs& affairs();  // of all ranks together
  const Sums& others();      // of all others
  PeStats stats(const Block&, Coord);
  std::vector<StripState> strips();  // of all others
  Engine& whole();  // an engine of its own with the present state of all strips
  void changed();   // what was learned of the others may not be so any more

  // ---- others: one message of rank 0; false: that is all
  bool serve(Engine&);

  // ---- checkpoints: the sender's side of borders is known to the receiver's
  void share_waiters();
  void restored();

 private:
  struct News;
  void begin_rounds();
  News news(Cycle printed_before);
  bool serve_host(Engine&, Asked, StateReader&);
  bool serve_counters(Engine&, Asked, StateReader&);
  template <class... T>
  void answer(const T&... what);

  Engine::Impl& m_;
  Ranks& ranks_;
  std::vector<int> first_row_;  // by rank, in rows of blocks
  std::array<Border, 2> borders_;
  Cycle effect_ = kNever;       // of what lies in them
  std::vector<size_t> told_received_, told_entered_;  // by port: of what rank 0 knows

  bool affairs_known_ = false;
  Affairs affairs_;
  std::optional<Sums> others_;
  std::map<int, std::vector<PeStats>> rows_;  // of other strips
  std::unique_ptr<Engine> whole_;
};

}  // namespace cs::sim

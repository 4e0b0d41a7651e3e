// Sets of addresses that one PE keeps of a buffer: a digit of the address per level, each within an interval.
//
// {224 · 224, channels}, {224, rows}, {1, columns} are the columns of rows of channels of a picture. They are
// stored without the gaps, in order. A level's digit stays below the stride of the level around it, so no run
// crosses one.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "runtime/ops/loops.h"

namespace cs::autogen {

struct Level {
  int64_t stride = 1, first = 0, count = 1;  // addresses stride · (first + i), i < count
  auto operator<=>(const Level&) const = default;
};

struct Runs {
  std::vector<Level> levels;  // outermost first, the last one has stride 1; none: no address
  bool empty() const { return levels.empty(); }
  int64_t words() const;
  int64_t first() const;
  int64_t last() const;
  int64_t run() const { return empty() ? 0 : levels.back().count; }  // words without a gap
  int64_t count() const { return empty() ? 0 : words() / run(); }    // of such runs
  std::vector<int64_t> starts() const;                               // of the runs, in order
  auto operator<=>(const Runs&) const = default;
};

// What moves an address: `extent` steps of `stride`.
struct Moves {
  int64_t stride = 0, extent = 1;
};

Runs interval(int64_t first, int64_t last);
// Addresses offset + Σ stride · i, and those between them where handling the gaps would not pay; with `fine`
// only those of very small gaps.
Runs runs_of(int64_t offset, std::vector<Moves> axes, bool fine);
// The same with a level per period (from the largest, each a multiple of the next); empty if they do not fit.
Runs cover(int64_t offset, std::vector<Moves> axes, const std::vector<int64_t>& periods);
// The smallest of the sets considered that holds both, of addresses below `elements`.
Runs hull(const Runs&, const Runs&, int64_t elements);
// Levels that stand still, or are full, become one with their neighbours.
Runs simplified(Runs);
// Words of the set that lie between two multiples of the period.
int64_t words_within(const Runs&, int64_t period);

// Where address and steps are in what is stored, gaps left out.
int64_t local_address(int64_t address, const Runs& stored);
int64_t local_stride(int64_t stride, const Runs& stored);
ops::LoopAccess local_access(const ops::LoopAccess&, const Runs& stored);
// Every step changes digits without leaving their intervals: local_access is right.
bool moves_within(int64_t offset, const std::vector<Moves>&, const Runs& stored);

// How one takes a part of a stream: words before the first run, runs with gaps between them, words behind the
// last.
struct Walk {
  int64_t before = 0, run = 0, after = 0;
  struct Loop {
    int64_t count = 1, gap = 0;  // so many times what is inside, with so many words between
  };
  std::vector<Loop> loops;  // innermost first
};
// The stream is the whole set `stream`, of which the addresses first + Σ stride · i (ascending) are kept;
// runs without a gap between them in the stream are one. False if the part's runs are not runs of the stream.
bool walk_of(int64_t first, const std::vector<Moves>& part, const Runs& stream, Walk&);
bool walk_of(const Runs& part, const Runs& stream, Walk&);  // an empty part is all gap

}  // namespace cs::autogen

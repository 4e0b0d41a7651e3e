// DTG for any operator: a region of the graph as one loop program, sharded over a rectangle of PEs.
//
//   1. build    the nodes of a group become one LoopProgram (runtime/ops/loops.h): values between them are
//               temporaries, constants with one element are folded into expressions, axes that walk memory
//               without a gap are merged
//   2. shard    the results are cut along axes (region_cut.h). Backwards from them, every statement is
//   restricted to the
//               rounds that are needed, every buffer to the runs of addresses that these read; what two PEs
//               both need, both compute or keep
//   3. code     per PE: receive every operand, keep the runs, compute, send in turns (region_module.h)
//
// In a row every operand's stream passes all PEs, which take what they need from it while it passes: that
// costs a PE one cycle per word, as much as the stream itself takes. In a rectangle a column of feeders gives
// every row its part of the stream, and a column of collectors puts the results of the rows together.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/autogen/region_cut.h"
#include "compiler/graph/graph.h"
#include "runtime/ops/loops.h"

namespace cs::autogen {

// A value that a region keeps from sample to sample: what `made` is at the end of a sample is `kept` in the
// next one. Buffers of the program, `kept` among the constants, which begin as they are packed. Where `made`
// is sent, it is sent once more before the first sample, as `kept` is then.
struct KeptState {
  int kept = 0, made = 0;
  bool operator==(const KeptState&) const = default;
};

// A constant that PEs may keep in bytes (byte_rows.h).
struct ByteRows {
  int64_t row = 0;      // elements that have a scale in common; 0: it is not in bytes
  int64_t at_once = 1;  // rows that a statement reads while its outermost loop stands still
  int64_t rows = 0;
  bool operator==(const ByteRows&) const = default;
};

struct Region {
  ops::LoopProgram program;
  std::vector<graph::ValueId> operands, results, constants;  // streams in, streams out, in PE memory
  std::vector<int> operand_buffer, result_buffer, constant_buffer;
  std::vector<KeptState> states;
  std::map<int, ByteRows> bytes;  // by buffer of a constant
  std::vector<int64_t> stays;     // by operand, of a slice: rounds for which a part of it stays on the PEs; empty: 1
  // By buffer of a constant, of a slice: parts of which each round in turn reads the next one; PEs hold theirs of all.
  std::map<int, int64_t> constant_parts;
  bool may_wait = false;    // each of several streams until the others come (held.h)
  bool by_library = false;  // convolutions are the library's (kernels/conv.csl), not generated
  bool resident = false;    // operands and results lie on the PEs (resident_region.h)
  int64_t stays_for(size_t operand) const { return stays.empty() ? 1 : stays[operand]; }
  int64_t parts_of(int buffer) const {
    const auto found = constant_parts.find(buffer);
    return found == constant_parts.end() ? 1 : found->second;
  }
  double words_a_round(size_t operand) const {
    return double(elements(operand_buffer[operand])) / double(stays_for(operand));
  }
  int64_t words_in() const;  // of a round
  int64_t words_out() const;
  int64_t elements(int buffer) const { return program.buffers[size_t(buffer)].type.elements(); }
};

// Do two regions compute the same, of whatever values?
bool same_region(const Region&, const Region&);

// Nodes in topological order. False with one clause for the user if a node has no loops or an element type
// that PEs do not compute with.
bool build_region(const graph::Graph&, std::span<const graph::NodeId> nodes, Region&, std::string& why);
// Results that nobody takes stay in the PEs that compute them.
void keep_results(Region&, const std::set<graph::ValueId>& taken);
// The operand `before` is kept on the PEs: it is what the result `after` was in the sample before. False if
// it is no operand, or the only one, which tells the region when to begin.
bool keep_state(Region&, graph::ValueId before, graph::ValueId after);
// Step 1's merging of axes: fewer and longer loops with the same accesses in the same order.
void merge_axes(ops::LoopStatement&);

// Where the runs that are sent lie in what is stored.
struct Send {
  int64_t first = 0, run = 0;
  struct Loop {
    int64_t count = 1, step = 0;
    bool operator==(const Loop&) const = default;
  };
  std::vector<Loop> loops;  // outermost first
  int own = -1;             // >= 0: this one of the PE's own numbers in place of `first` (region_own.h)
  bool operator==(const Send&) const = default;
};

// Where an operand's words are put, in the order in which they arrive.
struct Receive {
  int buffer = 0;
  int64_t first = 0;           // in what the PE stores of it
  std::vector<Moves> moves;    // through the operand, outermost first
  std::vector<int64_t> steps;  // through the buffer, for each of them
};

struct RegionShare {                     // one PE
  std::vector<Runs> stored;              // by buffer
  std::vector<Runs> sent;                // by result
  std::vector<Send> out;                 // by result
  std::vector<Turns> turns;              // by result, in the row
  std::vector<Receive> receive;          // by operand
  std::vector<Walk> walks;               // by operand: which words of the stream that passes the row are kept
  std::vector<ops::LoopStatement> once;  // before the first sample
  ops::LoopProgram program;              // with this PE's rounds; addresses are global
  int own = 0;                           // numbers that each PE has by itself (region_own.h)
};
// The share of PE (x, y).
RegionShare shard_region(const Region&, const RegionCut&, int x, int y);
// Operands arrive in the temporaries into which they would be copied; sets `receive` and `once`.
void receive_in_place(const Region&, RegionShare&);
// What is sent before the first sample is made from what is kept; adds to `once`.
void begin_states(const Region&, RegionShare&);
bool is_stored(const Region&, const RegionShare&, int buffer);  // it has an array
// Words of the arrays that the share needs.
int64_t words_stored(const Region&, const RegionShare&);
// The share as the PE sees it: addresses of what it stores, sets from 0 on.
RegionShare local_share(RegionShare);
// Local shares that need the same code.
bool same_program(const RegionShare& a, const RegionShare& b);
// Large regions of one stream, or of streams that may wait, in time: if the leading dimensions of the results
// can be computed one part after another, every part reading the next part of every stream and nothing else
// of it, the region becomes the program of one part. PEs repeat their program for ever, so a sample is then
// so many rounds of it. Returns how many; 1: the region stays as it is. Of a region that takes many PEs to
// hold, what several parts in turn read of a stream may be the same (the second operand of a product): PEs
// keep it for so many rounds (`stays`).
int64_t slice_region(Region&);
bool large_enough_to_slice(const Region&);

}  // namespace cs::autogen

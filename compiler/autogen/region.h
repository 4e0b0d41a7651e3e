// DTG for any operator: a region of the graph as one loop program, sharded over a row of PEs.
//
//   1. build    the nodes of a group become one LoopProgram (runtime/ops/loops.h): values between them are
//               temporaries, constants with one element are folded into expressions, axes that walk memory
//               without a gap are merged
//   2. shard    every result is cut into runs of whole units (a unit is what one round of the outermost axis
//               writes). Backwards from the results, every statement is restricted to the rounds of its
//               outermost axis that are needed, every buffer to the interval that these read; what two PEs
//               both need, both compute or keep
//   3. code     per PE: receive every operand, keep the interval, compute, send in turns (region_module.h)
//
// Every operand's stream passes all PEs of the row, which take what they need from it while it passes: that
// costs a PE one cycle per word, as much as the stream itself takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/ops/loops.h"

namespace cs::autogen {

struct Region {
  ops::LoopProgram program;
  std::vector<graph::ValueId> operands, results, constants;  // streams in, streams out, in PE memory
  std::vector<int> operand_buffer, result_buffer, constant_buffer;
  int64_t words_in() const;
  int64_t words_out() const;
};

// Nodes in topological order. False with one clause for the user if a node has no loops or an element type
// that PEs do not compute with.
bool build_region(const graph::Graph&, std::span<const graph::NodeId> nodes, Region&, std::string& why);
// Step 1's merging of axes: fewer and longer loops with the same accesses in the same order.
void merge_axes(ops::LoopStatement&);

struct Interval {  // of addresses of a buffer; empty if last < first
  int64_t first = 0, last = -1;
  bool empty() const { return last < first; }
  int64_t count() const { return empty() ? 0 : last - first + 1; }
  void include(Interval other);
  bool operator==(const Interval&) const = default;
};

struct StatementShare {  // what one PE does of a statement
  bool active = false;
  int axis = -1;  // restricted axis, -1: all rounds
  int64_t first = 0, count = 0;
  bool operator==(const StatementShare&) const = default;
};

struct RegionShare {                       // one PE
  std::vector<Interval> stored;            // by buffer
  std::vector<Interval> sent;              // by result
  std::vector<StatementShare> statements;  // in the order of the program, blocks one after another
  int64_t words_stored() const;
  double points(const Region&) const;  // loop rounds, all statements together
};

// How many PEs can share the region at most, and what each of `pes` does. Some may have nothing to send.
int64_t region_units(const Region&);
std::vector<RegionShare> shard_region(const Region&, int pes);

}  // namespace cs::autogen

// DTG for any operator: a region of the graph as one loop program, sharded over a row of PEs.
//
//   1. build    the nodes of a group become one LoopProgram (runtime/ops/loops.h): values between them are
//               temporaries, constants with one element are folded into expressions, axes that walk memory
//               without a gap are merged
//   2. shard    the results are cut along an axis. Backwards from them, every statement is restricted to the
//               rounds that are needed, every buffer to the runs of addresses that these read; what two PEs
//               both need, both compute or keep
//   3. code     per PE: receive every operand, keep the runs, compute, send in turns (region_module.h)
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

// Addresses of a buffer: `count` runs of `run` elements, `stride` apart. No run crosses a multiple of the
// stride, so that the elements of a PE can be stored without the gaps (local_access).
struct Runs {
  int64_t first = 0, run = 0, stride = 0, count = 0;  // count 1: stride has no meaning
  bool empty() const { return count == 0 || run == 0; }
  int64_t words() const { return run * count; }
  int64_t last() const { return first + stride * (count - 1) + run - 1; }
  bool operator==(const Runs&) const = default;
};
Runs interval(int64_t first, int64_t last);
// The smallest runs with both; plain intervals if they have nothing in common.
Runs hull(const Runs&, const Runs&);

// How results are cut: `extent` rounds of `stride` elements, again and again until the end of the result.
struct ShardAxis {
  int64_t stride = 1, extent = 1;
  bool operator==(const ShardAxis&) const = default;
};
// Every way to cut the first result along one dimension, or along the leading ones together.
std::vector<ShardAxis> shard_axes(const Region&);

struct RegionShare {         // one PE
  std::vector<Runs> stored;  // by buffer
  std::vector<Runs> sent;    // by result; every PE sends the same number of runs, some of them empty
  ops::LoopProgram program;  // with this PE's rounds; addresses are global
  int64_t words_stored() const;
};
// PE number `pe` of `pes` ≤ axis.extent.
RegionShare shard_region(const Region&, const ShardAxis&, int pes, int pe);
// Large regions of one stream, in time: if the leading dimensions of the results can be computed one part after
// another, every part reading the next part of the stream and nothing else of it, the region becomes the program of
// one part. PEs repeat their program for ever, so a sample is then so many rounds of it. Returns how many; 1: the
// region stays as it is.
int64_t slice_region(Region&);
// The access with the addresses of what is stored: gaps left out, from 0 on.
ops::LoopAccess local_access(const ops::LoopAccess&, const Runs& stored);

}  // namespace cs::autogen

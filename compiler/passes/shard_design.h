// Which operators are cut into shards, and along what: on paper, before the graph is changed. Internal to
// shards.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/passes/shard_windows.h"
#include "compiler/passes/shards.h"

namespace cs::passes {

// How operands and results of a node are cut; -1: they are whole.
struct Cut {
  std::vector<int> operands, results;
  std::string_view joined_by;        // operator that joins what the parts give; empty: the result is in parts
  std::vector<WindowShare> windows;  // what part k of the result reads of operand 0; none: part k of it
};

// What the operators of a graph do under one rule.
struct Design {
  std::map<graph::NodeId, Cut> cuts;
  std::map<graph::ValueId, int> dims;  // of what is made in parts
  double saved = 0;                    // words that no single stream carries any more
};

// Where shard k of an extent begins. Shards are equal, or some are one longer than others.
inline int64_t begin_of(int64_t extent, int64_t shards, int64_t k) { return extent * k / shards; }
inline int64_t extent_of(int64_t extent, int64_t shards, int64_t k) {
  return begin_of(extent, shards, k + 1) - begin_of(extent, shards, k);
}

// Of all rules that are tried, the one that saves most; no cuts: none saves anything. Nodes of `whole` are not cut.
Design design_shards(const graph::Graph&, int64_t shards, const std::set<graph::NodeId>& whole = {});

// Products with constant matrices and what follows them, by the columns of the matrices, from operands that are whole:
// where something is in parts then that is larger than all that has to be whole (an output; scores of heads).
Design design_columns(const graph::Graph&, int64_t columns, ColumnsOf, const std::set<graph::NodeId>& whole = {});

}  // namespace cs::passes

// One sample in several parts beside each other (cs-compile --shards N).
//
//   x ─┬─ x[0:4] ── operators ──┐
//      └─ x[4:8] ── operators ──┴─ concat ── y
//
// A value travels as one stream, a word per cycle, so what a network takes for a sample is at least the words of
// its largest value. Operators that compute parts of their results from parts of their operands (tokens of a
// sequence, rows of a batch or a picture, elements of a vector) are there once for each part, with streams of their
// own; what others need whole is put together before them. Inputs and outputs cross the edge in pieces
// (graph/pieces.h).
//
// That parts are independent is proved by an operator's loops (graph/sample.h), as it is of samples. Windows read some
// of their neighbours' parts (shard_windows.h), and of reductions along what is cut parts are joined (shard_sums.h).
#pragma once

#include <cstdint>
#include <set>

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"

namespace cs::passes {

inline constexpr int64_t kMostShards = 32;
inline constexpr int64_t kMostColumns = 128;  // parts of an output, which need not be put together

struct Sharded {
  size_t operators = 0;  // of the graph that are there several times now
  size_t joined = 0;     // values that are put together for others
  std::set<graph::NodeId> nodes;    // the parts, and what joins those of outputs
  std::set<graph::ValueId> wholes;  // what concats put together for operators
};
// With shards < 2, or where nothing can be cut, the graph stays as it is. Graphs that train stay, too. Types of all
// values must be known; false if a new node was refused, which is in diag then.
// Nodes of `whole` are not cut.
bool make_shards(graph::Graph&, int64_t shards, Sharded&, Diag&, const std::set<graph::NodeId>& whole = {});

// Whose columns: of products that make outputs, of those that make what stays inside, or of those whose results another
// product adds up, as in a feed-forward network: its parts each give a sum, and the sums are added.
enum class ColumnsOf : uint8_t { outputs, heads, sums };
// Another dimension, before that: products by the columns of their constant matrices, each from all of its operand, so
// that no weight is there twice, and what follows them, where that is larger than what has to be whole for it: logits
// of a vocabulary, heads of attention, the layer inside of a feed-forward network. Each in as many parts as it allows,
// and `columns` at most; nodes of `whole` are not cut. As above.
bool make_columns(graph::Graph&, int64_t columns, ColumnsOf, Sharded&, Diag&,
                  const std::set<graph::NodeId>& whole = {});

}  // namespace cs::passes

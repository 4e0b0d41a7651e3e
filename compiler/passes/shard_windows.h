// Convolutions and pools of what is cut along a dimension over which their windows slide: a part of the
// result is made of its own part of the operand and of some of its neighbours' (a halo).
//
//   x[0:4] ───────────────────┬─ concat ── conv ── y[0:4]      rows of a 3 x 3 window
//      └─ [3:4] ──┐   ┌─ [0:1]┘
//   x[4:8] ───────┴───│─ concat ── conv ── y[4:8]
//      └──────────────┘
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::passes {

inline constexpr size_t kMostJoined = 8;  // streams that one kernel joins
// Streams that rectangles join, which the routers can filter: of more than these every PE takes all words and drops
// those that it does not need, so that from so many words on they are joined step by step.
inline constexpr size_t kJoinedAtOnce = 4;
inline constexpr int64_t kManyWords = 16384;

// What a part of the result reads: elements begin to end - 1 of the operand's dimension, and padding around
// them.
struct WindowShare {
  int64_t begin = 0, end = 0;
  int64_t pad_begin = 0, pad_end = 0;
};

// Of operand 0, for each of so many parts of the result along this dimension. Nothing if the node has no windows
// over it, or fewer results there; if a part reads padding only, much more than its part of the operand, or what
// lies in more parts of it than one kernel joins.
std::optional<std::vector<WindowShare>> window_shares(const graph::Graph&, graph::NodeId, int dim,
                                                      int64_t shards);

// The node, of a graph, becomes that of one part: with its padding.
void slide_over_share(const graph::Graph&, graph::NodeId of, graph::Node&, int dim, const WindowShare&);

}  // namespace cs::passes

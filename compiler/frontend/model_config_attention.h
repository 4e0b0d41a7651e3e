// Attention with heads and positions, for the transformer builders.
#pragma once

#include "compiler/frontend/model_config_net.h"

namespace cs::frontend {

struct Attention {
  int64_t heads = 1, depth = 1;  // depth: of one head
  bool bias = true;              // of the projections
  bool causal = false;
  double scale = 1;    // of the scores
  ValueId score_bias;  // [heads, queries, keys] or nothing: relative positions
  int64_t rotary = 0;  // how many elements of a head are turned by position
};

// Projections of x (queries) and `source` (keys, values) to heads, scores, softmax, and back to x's width.
ValueId attention(NetBuilder&, const std::string& name, ValueId x, ValueId source, const Attention&);

// [steps, width] of sines and cosines.
ValueId fixed_positions(NetBuilder&, const std::string& name, int64_t steps, int64_t width);
// Bias of every head by distance, from `buckets` seeded values a head: near distances have their own, far
// ones share theirs, the further the more of them; without `both_ways` only what lies behind counts.
ValueId relative_bias(NetBuilder&, const std::string& name, int64_t heads, int64_t queries, int64_t keys,
                      int64_t buckets, int64_t max_distance, bool both_ways);
// Bias that falls linearly with distance, with a slope of its own for every head.
ValueId alibi_bias(NetBuilder&, const std::string& name, int64_t heads, int64_t steps);

}  // namespace cs::frontend

// --shards auto: in how many parts beside each other one sample of a network is computed. Internal to tools/api.
#pragma once

#include <cstdint>

#include "tools/api/ladder.h"

namespace cs::api {

inline constexpr int64_t kBestShards = 0;  // passes::Rewrites::shards: as many as are worth it

// 1 or a power of two, by estimates of the network in the form joined: the fewest of those that are within a few
// percent of the shortest interval.
int64_t best_shards(const CompileOptions&, const passes::PipelineOptions&, const Start&, const Machine&);

}  // namespace cs::api

// --shards auto: in how many parts beside each other one sample of a network is computed. Internal to tools/api.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/api/ladder.h"

namespace cs::api {

struct BestShards {
  int64_t shards = 1, columns = 1;  // of passes::Rewrites
  std::optional<Formed> made;  // the network in so many, as far as its estimate; nothing: it has no place
};
// 1 or a power of two, by estimates of the network in the form joined: the fewest of those that are within a few
// percent of the shortest interval; and for that many shards columns, where
// these make it shorter by half.
BestShards best_shards(const CompileOptions&, const passes::PipelineOptions&, const Start&, const Machine&);

}  // namespace cs::api

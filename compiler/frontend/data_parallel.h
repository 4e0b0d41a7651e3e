// Data parallel training: replicas of the network on one wafer, each with a share of the batch and a loss of
// its own, whose gradients are reduced before the optimizer.
//
//   runconfig: {mode: train, replicas: 4, allreduce_fusion: concat, bucket_bytes: 65536}
//
//   off        every gradient is added up and scaled for itself
//   concat     those of a bucket are one vector: concat → add up → scale once → split
//   coalesced  those of a bucket are added up by one kernel, which copies none of them, and scaled one by one
//   auto       off, which takes the fewest cycles (docs/training.md)
//
// A bucket holds gradients of one group and one type, as they become known: those of the last layer first. It
// has at most bucket_bytes, or one gradient that alone has more. Gradients in 16 bits are sent so and added
// up in f32. The sum is a tree over the replicas, (0 + 1) + (2 + 3).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/model_config.h"
#include "compiler/graph/replicas.h"

namespace cs::frontend {

enum class GradientFusion : uint8_t { off, concat, coalesced };

struct DataParallel {
  int64_t replicas = 1;
  GradientFusion fusion = GradientFusion::off;
  int64_t bucket_bytes = kBucketBytes;
  bool average = true;  // of the replicas' gradients; false: their sum
  static constexpr int64_t kBucketBytes = int64_t(25) << 20;
};

// runconfig.replicas and the keys beside it; `batch` must have equal shares for them.
DataParallel read_data_parallel(ModelConfig&, const graph::Graph&, int64_t batch);

// A weight's gradient in every replica.
struct ReplicatedGradient {
  std::string name, group;  // gradients of different groups are never reduced together
  std::vector<graph::ValueId> of_replica;
};

// Indices of gradients, the last first.
std::vector<std::vector<size_t>> gradient_buckets(const graph::Graph&, std::span<const ReplicatedGradient>,
                                                  int64_t bucket_bytes);
// Their sums, or means, in at least f32.
bool reduce_gradients(graph::Graph&, const DataParallel&, std::span<const ReplicatedGradient>,
                      std::vector<graph::ValueId>& reduced, Diag&);
// The mean of one number of each replica, or their sum.
graph::ValueId join_losses(graph::Graph&, const DataParallel&, std::span<const graph::ValueId> losses, Diag&);

}  // namespace cs::frontend

// The row `whole_batch`: an operator over all samples of a batch at once.
//
// A network is compiled for one sample. What would mix samples, or needs their number as a value, is not folded for one
// of them: its node becomes a whole_batch node, which says the operator, and the host computes it when all samples of
// the batch are there. Its results go back to the samples:
//
//   sample_dims   d >= 0       the dimension that holds the samples one after another; each gets its part
//                 kAlike       the same for every sample
//                 kNumbered    an extent depends on the number of samples: only whole_batch nodes take it
#pragma once

#include <cstdint>
#include <string_view>

namespace cs::ops {

inline constexpr std::string_view kWholeBatch = "whole_batch";
inline constexpr int64_t kAlike = -1, kNumbered = -2;

}  // namespace cs::ops

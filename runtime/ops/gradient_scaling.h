// Gradients between the backward graph and the optimizer: taken out of the loss's scale, clipped, and left
// unused where one overflowed. These write steps over several gradients at once; what concerns one alone is a
// row (rows_gradient_scaling.cpp).
//
//   16 bits: g_k -> unscale -> any_not_finite -> clip_by_global_norm -> optimizer -> keep_if, loss_scale_step
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/ops/steps.h"

namespace cs::ops {

// sqrt(Σ_k Σ g_k²). Gradients have one type, in at least f32.
std::string global_norm(Steps&, std::span<const std::string> gradients);
// Every gradient times min(1, max_norm / (norm + 1e-6)), the norm being that of all of them together.
std::vector<std::string> clip_by_global_norm(Steps&, std::span<const std::string> gradients, double max_norm);
// Elements within ±limit.
std::vector<std::string> clip_by_value(Steps&, std::span<const std::string> gradients, double limit);
// 1 if an element of any gradient is NaN or infinite, else 0.
std::string any_not_finite(Steps&, std::span<const std::string> gradients);
// `old` where `overflow` is not 0, else `made`: a step that overflowed changes nothing.
std::string keep_if(Steps&, const std::string& overflow, const std::string& old, const std::string& made);

}  // namespace cs::ops

// Weights in bytes: a matrix whose rows are whole numbers of 8 bits times a scale each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cs::kernels {

// One scale per row of w (row-major [m][n]) with which every element is exactly scale * q in f32, q from -128
// to 127; nothing if a row has none.
std::optional<std::vector<float>> byte_scales(std::span<const float> w, int64_t m, int64_t n);
// q of a weight.
int byte_of(float weight, float scale);

}  // namespace cs::kernels

// Arrays that somebody else holds: what a run takes, without a copy of the whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/npz.h"
#include "runtime/ops/tensor.h"

namespace cs {

// As a NamedArray; the bytes, C order, are there as long as the view is used. They need no alignment.
struct ArrayView {
  std::string name;
  ops::TensorType type;
  std::span<const uint8_t> bytes;  // type.bytes() of them
};

std::vector<ArrayView> views_of(const std::vector<NamedArray>&);
const ArrayView* find_view(std::span<const ArrayView>, std::string_view name);

}  // namespace cs

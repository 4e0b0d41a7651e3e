// A constant as kernels read it: the graph's tensor, perhaps turned, times a number. It is shared with the
// graph and copied by nobody before the words of PEs are written, since a network's weights are most of what a
// compiler keeps in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ops/tensor.h"

namespace cs::kernels {

class ConstantView {
 public:
  ConstantView() = default;
  ConstantView(std::vector<float> list);  // of its own
  explicit ConstantView(std::shared_ptr<const ops::Tensor> tensor, float factor = 1)
      : tensor_(std::move(tensor)), factor_(factor) {}
  // A matrix of so many rows, which lie in the tensor as columns.
  ConstantView turned(int64_t rows, int64_t columns) const;

  int64_t size() const { return tensor_ ? tensor_->elements() : 0; }
  float operator[](int64_t i) const;  // in C order
  // Elements at, at + step, ..., count of them.
  void copy(int64_t at, int64_t count, int64_t step, float* out) const;
  std::vector<float> floats() const;
  // The same as the words of PEs.
  void append_floats(int64_t at, int64_t count, int64_t step, std::vector<uint32_t>& words) const;
  // Elements of 16 bits as they are.
  void append_halves(int64_t at, int64_t count, int64_t step, std::vector<uint16_t>& halves) const;
  // As PEs hold the elements of its own type: integers in 32 bits, everything else as f32.
  void append_words(int64_t at, int64_t count, std::vector<uint32_t>& words) const;

 private:
  int64_t index(int64_t i) const { return columns_ == 0 ? i : i % columns_ * rows_ + i / columns_; }

  std::shared_ptr<const ops::Tensor> tensor_;
  float factor_ = 1;
  int64_t rows_ = 0, columns_ = 0;  // of the turned matrix; 0: it is not turned
};

}  // namespace cs::kernels

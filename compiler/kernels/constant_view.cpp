// Elements of shared constants.
#include "compiler/kernels/constant_view.h"

#include <cstring>

#include "runtime/support/diag.h"

namespace cs::kernels {

ConstantView::ConstantView(std::vector<float> list) {
  const auto n = int64_t(list.size());
  tensor_ = std::make_shared<const ops::Tensor>(ops::Tensor::from_floats({n}, list));
}

ConstantView ConstantView::turned(int64_t rows, int64_t columns) const {
  CS_CHECK(rows * columns == size() && columns_ == 0, "only a matrix is turned, and once");
  ConstantView view = *this;
  view.rows_ = rows;
  view.columns_ = columns;
  return view;
}

float ConstantView::operator[](int64_t i) const {
  float value = 0;
  copy(i, 1, 1, &value);
  return value;
}

void ConstantView::copy(int64_t at, int64_t count, int64_t step, float* out) const {
  if (columns_ == 0) {
    tensor_->copy_floats(at, count, step, out);
  } else if (step % columns_ == 0) {  // down a column, whose elements are neighbours in the tensor
    tensor_->copy_floats(index(at), count, step / columns_, out);
  } else {
    for (int64_t k = 0; k < count; ++k) tensor_->copy_floats(index(at + k * step), 1, 1, out + k);
  }
  if (factor_ == 1) return;
  for (int64_t k = 0; k < count; ++k) out[k] *= factor_;
}

std::vector<float> ConstantView::floats() const {
  std::vector<float> list(static_cast<size_t>(size()));
  copy(0, size(), 1, list.data());
  return list;
}

void ConstantView::append_floats(int64_t at, int64_t count, int64_t step, std::vector<uint32_t>& words) const {
  const size_t before = words.size();
  words.resize(before + size_t(count));
  copy(at, count, step, reinterpret_cast<float*>(words.data() + before));
}

void ConstantView::append_halves(int64_t at, int64_t count, int64_t step, std::vector<uint16_t>& halves) const {
  CS_CHECK(data_type_bytes(tensor_->type.dtype) == 2 && factor_ == 1, "elements of another size");
  for (int64_t k = 0; k < count; ++k) {
    halves.emplace_back();
    std::memcpy(&halves.back(), tensor_->bytes.data() + 2 * index(at + k * step), 2);
  }
}

void ConstantView::append_words(int64_t at, int64_t count, std::vector<uint32_t>& words) const {
  if (data_type_is_float(tensor_->type.dtype)) return append_floats(at, count, 1, words);
  for (int64_t k = 0; k < count; ++k) words.push_back(uint32_t(int32_t(tensor_->get_int(index(at + k)))));
}

}  // namespace cs::kernels

// Splitting and joining along the sample dimension.
#include "runtime/host/samples.h"

#include <algorithm>
#include <cstring>

namespace cs {
namespace {

// Copies one sample between a tensor of one sample and the model's tensor. `outer` blocks of `inner` bytes.
void copy_sample(const HostTensor& t, int sample, int samples, const uint8_t* from, uint8_t* to,
                 bool gather) {
  const ops::TensorType one = tensor_type(t);
  size_t outer = 1, inner = size_t(data_type_bytes(one.dtype));  // of stacked samples all is inner
  for (int d = 0; d < one.rank(); ++d) (d < t.sample_dim ? outer : inner) *= size_t(one.shape[size_t(d)]);
  if (inner == 0) return;  // an empty tensor has no bytes to point at
  for (size_t o = 0; o < outer; ++o) {
    const size_t full = (o * size_t(samples) + size_t(sample)) * inner, part = o * inner;
    std::memcpy(to + (gather ? part : full), from + (gather ? full : part), inner);
  }
}

}  // namespace

ops::TensorType tensor_type(const HostTensor& t) { return {t.type, t.shape}; }

ops::TensorType full_type(const HostTensor& t, int samples) {
  ops::TensorType type = tensor_type(t);
  if (t.sample_dim >= 0) type.shape[size_t(t.sample_dim)] *= samples;
  if (t.sample_dim == kStackedSamples) type.shape.insert(type.shape.begin(), samples);
  return type;
}

ops::Tensor sample_of(const HostTensor& t, const ops::Tensor& array, int s, int given) {
  return sample_of(t, std::span(array.bytes), s, given);
}

ops::Tensor sample_of(const HostTensor& t, std::span<const uint8_t> array, int s, int given) {
  ops::Tensor one(tensor_type(t));
  const bool counted = t.sample_dim != -1;
  copy_sample(t, counted ? s % given : 0, counted ? given : 1, array.data(), one.bytes.data(), true);
  return one;
}

NamedArray gather_samples(const HostTensor& t, int samples,
                          const std::function<const ops::Tensor*(int)>& sample) {
  const int extent = t.sample_dim != -1 ? samples : 1;
  ops::Tensor full(full_type(t, extent));
  for (int s = 0; s < std::min(extent, samples); ++s)
    copy_sample(t, s, extent, sample(s)->bytes.data(), full.bytes.data(), false);
  return {t.name, std::move(full)};
}

}  // namespace cs

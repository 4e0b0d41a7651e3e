// Samples of a model's tensors: one along the sample dimension of an array, and an array from one after the
// other. Those of a tensor with stacked samples (kStackedSamples) lie along a dimension in front of its own.
#pragma once

#include <functional>
#include <span>

#include "runtime/host/npz.h"
#include "runtime/ops/tensor.h"
#include "runtime/program/host_part.h"

namespace cs {

// Of one sample, and of so many.
ops::TensorType tensor_type(const HostTensor&);
ops::TensorType full_type(const HostTensor&, int samples);
// Sample s of an array, or its bytes, with `given` of them, which repeat; a tensor without samples is the same for all.
ops::Tensor sample_of(const HostTensor&, std::span<const uint8_t> array, int s, int given);
ops::Tensor sample_of(const HostTensor&, const ops::Tensor& array, int s, int given);
// The array of so many samples, each of which `sample` gives.
NamedArray gather_samples(const HostTensor&, int samples,
                          const std::function<const ops::Tensor*(int)>& sample);

}  // namespace cs

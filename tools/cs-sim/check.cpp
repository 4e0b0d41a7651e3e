// fit_samples walks the blocks before and after the sample dimension; everything else is compare_outputs.
#include "tools/cs-sim/check.h"

#include <algorithm>
#include <cstring>

namespace cs {

NamedArray fit_samples(const HostTensor& t, const NamedArray& expected, int samples) {
  const ops::Shape& shape = expected.tensor.type.shape;
  if (t.sample_dim < 0 || samples < 1 || shape.size() != t.shape.size()) return expected;
  const size_t d = size_t(t.sample_dim);
  const int64_t per_sample = t.shape[d];
  if (per_sample < 1 || shape[d] < per_sample || shape[d] % per_sample != 0) return expected;
  const size_t have = size_t(shape[d] / per_sample);
  size_t outer = 1, block = size_t(data_type_bytes(expected.tensor.type.dtype)) * size_t(per_sample);
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != d) (i < d ? outer : block) *= size_t(shape[i]);
  NamedArray out{expected.name, {}};
  ops::TensorType type = expected.tensor.type;
  type.shape[d] = per_sample * samples;
  out.tensor = ops::Tensor(type);
  for (size_t o = 0; block > 0 && o < outer; ++o)
    for (size_t s = 0; s < size_t(samples); ++s)
      std::memcpy(&out.tensor.bytes[(o * size_t(samples) + s) * block],
                  &expected.tensor.bytes[(o * have + s % have) * block], block);
  return out;
}

CheckResult check_outputs(const Program& program, const std::vector<NamedArray>& outputs,
                          std::vector<NamedArray> expected, int samples) {
  std::string dtype = "fp32";
  if (program.host) {
    dtype = program.host->dtype;
    for (NamedArray& e : expected)
      for (const HostTensor& t : program.host->outputs)
        if (t.name == e.name) e = fit_samples(t, e, samples);
  } else {
    // Without a model the widest tolerance that any compared array calls for; integers are exact in any case.
    for (const NamedArray& e : expected)
      if (e.tensor.type.dtype == DataType::f16) dtype = "fp16";
  }
  return compare_outputs(outputs, expected, dtype);
}

}  // namespace cs

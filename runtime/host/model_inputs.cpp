// The inputs of a model run: how many samples they hold, and seeded ones where there are none.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/host/model_run.h"
#include "runtime/host/samples.h"
#include "runtime/support/rng.h"

namespace cs {

int samples_in(const HostPart& host, const std::vector<NamedArray>& inputs, Diag& diag) {
  return samples_in(host, views_of(inputs), diag);
}

int samples_in(const HostPart& host, std::span<const ArrayView> inputs, Diag& diag) {
  int64_t samples = 1;
  bool fixed = false;
  for (const HostTensor& t : host.inputs) {
    const ArrayView* a = find_view(inputs, t.name);
    if (a == nullptr) {
      std::string names;
      for (const ArrayView& x : inputs) names += (names.empty() ? "" : ", ") + x.name;
      diag.error_at("inputs", "no array '" + t.name + "' for the model's input",
                    "the arrays are: " + (names.empty() ? "none" : names));
      return 0;
    }
    ops::TensorType expected = tensor_type(t);
    ops::TensorType have = a->type;
    if (t.sample_dim == kStackedSamples) expected.shape.insert(expected.shape.begin(), 1);
    const size_t samples_at = t.sample_dim == kStackedSamples ? 0 : size_t(std::max(0, t.sample_dim));
    if (t.sample_dim != -1 && have.rank() == expected.rank()) {
      const int64_t n = have.shape[samples_at];
      if (n < 1 || n > 1'000'000 || (fixed && n != samples)) {
        diag.error_at("inputs", fmt::format("array '{}' holds {} samples{}", t.name, n,
                                            fixed ? fmt::format(", the ones before it {}", samples) : ""));
        return 0;
      }
      samples = n;
      fixed = true;
      have.shape[samples_at] = expected.shape[samples_at];
    }
    // numpy has no bfloat16: its bits come as u16.
    if (expected.dtype == DataType::bf16 && have.dtype == DataType::u16) have.dtype = DataType::bf16;
    if (have != expected) {
      diag.error_at(
          "inputs",
          fmt::format("array '{}' is {}, the model's input is {}", t.name, ops::type_text(a->type),
                      ops::type_text(expected)),
          t.sample_dim != -1 ? fmt::format("dimension {} counts samples and is free", samples_at) : "");
      return 0;
    }
  }
  return int(samples);
}

std::vector<NamedArray> random_inputs(const HostPart& host, int samples, uint64_t seed) {
  Rng rng(seed);
  std::vector<NamedArray> out;
  for (const HostTensor& t : host.inputs) {
    NamedArray a{t.name, ops::Tensor(full_type(t, samples))};
    for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.set(i, rng.uniform());
    out.push_back(std::move(a));
  }
  return out;
}

}  // namespace cs

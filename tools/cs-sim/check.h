// Comparison of a run's outputs with a file of expected ones, also when samples were used several times.
#pragma once

#include <optional>
#include <vector>

#include "runtime/host/compare.h"
#include "runtime/program/program.h"

namespace cs {

// The expected array for `samples` samples: its samples over and over along the sample dimension.
NamedArray fit_samples(const HostTensor&, const NamedArray& expected, int samples);

// Expected values fitted to the samples that ran, then compared by the rule of compare.h.
CheckResult check_outputs(const Program&, const std::vector<NamedArray>& outputs,
                          std::vector<NamedArray> expected, int samples);

}  // namespace cs

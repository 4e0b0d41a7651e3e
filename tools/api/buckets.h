// Buckets of gradients by measurement (runconfig.bucket_bytes: auto): which of them end while the backward pass still
// goes on, and so cost a step nothing, no estimate says. Internal to tools/api.
#pragma once

#include <vector>

#include "tools/api/api.h"

namespace cs::api {

// Does the model ask for it?
bool wants_buckets(const CompileOptions&);

// A step is compiled and simulated with buckets of several sizes; `options` gets what takes the fewest cycles, of
// equals the first one. Where no way to reduce is asked for (allreduce_fusion: auto), every way is tried, and
// gradients apart as well. `considered` gets a form for each: "gradients coalesced in buckets of 1448 bytes". False,
// with an error, if the model cannot be read.
bool choose_buckets(CompileOptions& options, std::vector<ConsideredForm>& considered, Diag&);

}  // namespace cs::api

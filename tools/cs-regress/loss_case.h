// A suite row about a loss or its backward pass: what `use_autogen` makes of it against its primitives.
//
//   - name: mse
//     op: mse_loss                 # or mse_loss_gradient, with attrs {wanted: [0]}
//     cases:
//       - rect: [16, 16]
//         operands: [{shape: [512, 512]}, {shape: [512, 512], range: [0, 1]}, {absent: true}]
//         resident: true           # default: operands are streamed
//         cause: "why it is slower than it should be"
//
// A case is two jobs. Streamed, a job is the loss as a graph of its own, and its cycles are those of one
// sample, from its first word to its last. With resident operands a job is several programs, one for each of
// its kernels, and its cycles are the sum of theirs: kernels of the fused form, or each of the same operators
// for itself, so that both have the same parts of every sum.
#pragma once

#include <optional>
#include <string>

#include "tools/cs-regress/job.h"

namespace cs {

bool is_loss_case(const KernelCase&);
// The rectangle is for kernels that can be cut so; others lie within it.
std::optional<KernelFigures> read_loss_figures(const std::string& stats_json, std::string& error);
// `job` has been prepared in `folder`. Nothing, with the reason, where a kernel has no form with resident
// operands.
std::optional<KernelFigures> run_resident_loss(const Job&, const RunOptions&, const std::string& folder,
                                               double& seconds, std::string& error);

}  // namespace cs

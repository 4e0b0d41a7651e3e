// The table of a suite's kernels: the library's and the generated one side by side, against what cannot be
// beaten.
#pragma once

#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// Fails results beyond the limits without a `cause`, and causes that nothing needs any more: a kernel may
// take 1.5 x its ideal cycles. The same of walks over tile code, which may be 5 % off, and `walk_missed`, which all
// kernels of a case share.
void judge_kernels(std::vector<Result>&);
// Empty if the suite has no kernels. Below the rows: geometric means of generated over handwritten, by
// operator.
std::string kernel_text(const std::vector<Result>&);

}  // namespace cs

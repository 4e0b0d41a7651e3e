// The table of a suite's losses: fused and primitives side by side, against what cannot be beaten.
#pragma once

#include <string>
#include <vector>

#include "tools/cs-regress/job.h"

namespace cs {

// Fails losses whose fused form is not as much faster than its primitives as it should be (streamed twice,
// resident not slower), or of which a resident kernel takes more than 1.5 x its ideal cycles, without a
// `cause`; and causes that nothing needs any more. A form that cannot be had fails likewise.
void judge_losses(std::vector<Result>&);
// Empty if the suite has no losses. Below the rows: geometric means of primitives over fused.
std::string loss_text(const std::vector<Result>&);

}  // namespace cs

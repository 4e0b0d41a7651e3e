// The table from golden losses (classes of torch.nn) to the rows of the operator table.
#pragma once

#include <string_view>

#include "tools/cs-regress/golden_ops.h"

namespace cs::golden {

const Operation* find_loss(std::string_view name);

}  // namespace cs::golden

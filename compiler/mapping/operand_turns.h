// Which kernels take their operands one after the other, row by row (kernels/row_feeder.csl), and in which order. Parts
// of two operands that come to a row at the same time share its links, and all rows behind it wait for both.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Of parts with layouts. Where links would be shared for longer than the slowest kernel takes, the operand that is
// there first comes first, unless the network would stop so or be slower.
void choose_operand_turns(Parts&, const Machine&);

}  // namespace cs::mapping

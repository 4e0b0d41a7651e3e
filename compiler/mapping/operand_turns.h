// How the rows of a kernel take several operands, whose parts share the links of a row. Where parts of two come to a
// row at the same time each comes at half the rate, and as long all rows behind it wait for both streams. So operands
// come one after the other, row by row (kernels/row_feeder.csl). Where that would stop the network, as what comes in
// step from one source does, or take too long, feeders hold what their row gets of an operand until it is all there, if
// they have room for it (kernels/block_feeder.csl): the streams go on, and the row's links bring what is held.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// Of parts with layouts, where links would be shared for longer than the slowest kernel takes. Of operands in turn the
// one that is there first comes first; there are none where the network would stop so or be slower.
void choose_operand_turns(Parts&, const Machine&);

}  // namespace cs::mapping

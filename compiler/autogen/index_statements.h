// Comparisons of an index with every place of an axis, as losses of classes have them, without the
// comparisons.
//
//   m[i, j] = t[i] == j;  y[i, j] = E(m[i, j], ...)
//
// becomes y = E(0, ...) and one more element per row: y[i, t[i]] = E(1, ...). What is 0 elsewhere and summed
// over the axis becomes that element alone. A stream has to be there whole for that, as it is where operands
// lie on the PEs.
#pragma once

#include "runtime/ops/loops.h"

namespace cs::autogen {

// Buffers keep their numbers; indices within the axis are new ones.
void use_indices(ops::LoopProgram&);

}  // namespace cs::autogen

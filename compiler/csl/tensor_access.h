// DSDs from affine accesses, and the loop behind @map.
#pragma once

#include "compiler/csl/builtins.h"

namespace cs::csl {

// |i, j|{n, m} -> a[i, 2 * j + 1]: base, extents and strides of `d`, whose kind is set. Reports what is not
// affine.
bool read_tensor_access(Evaluator&, const ast::TensorAccess&, DsdValue& d);
// The input queue for a color that a fabin_dsd names without one: the one bound to it, else a free
// one, which is bound to it; 15 if there is none.
int color_queue(Evaluator&, int color);
Value map_builtin(Evaluator&, const ast::Builtin&, const Type*);

// Extents from the outermost dimension inwards, strides from the innermost outwards. An outer stride leads
// from the last element of the dimensions inside to the first of their next round.
bool read_dimensions(Evaluator&, ConfigFields&, DsdValue&);

}  // namespace cs::csl

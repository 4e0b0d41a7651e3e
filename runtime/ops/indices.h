// Loads and stores at addresses that memory holds: what gathers and scatters share.
#pragma once

#include "runtime/ops/ops.h"

namespace cs::ops {

// Operand k holds i32 or i64.
bool integer_indices(const ShapeContext&, size_t k, std::string& error);
// Operand 1 has the rank of operand 0 and, except along `axis`, no larger extents.
bool indices_fit(const ShapeContext&, int axis, std::string& error);
// The access plus load number `load` times `stride`.
LoopAccess at_index(LoopAccess, int load, int64_t stride, int64_t extent);
// Tuples of indices (the last dimension of `tuples`) into a tensor of this shape become addresses in a
// temporary, counted in elements of the shape; negative indices count from the end.
LoopView flat_addresses(LoopBuilder&, const LoopView& tuples, const Shape& shape);

}  // namespace cs::ops

// Loads and stores at addresses that memory holds: what gathers and scatters share.
#pragma once

#include "runtime/ops/ops.h"

namespace cs::ops {

// Operand k holds i32 or i64.
bool integer_indices(const ShapeContext&, size_t k, std::string& error);
// Indices whose values are known name one of `extent` elements along the axis, or one counted from the end.
// `column` of the last dimension of tuples; -1: all.
bool indices_in_range(const ShapeContext&, size_t k, int axis, int64_t extent, std::string& error,
                      int64_t column = -1);
// Operand 1 has the rank of operand 0 and, except along `axis`, no larger extents.
bool indices_fit(const ShapeContext&, int axis, std::string& error);
// The access plus load number `load` times `stride`.
LoopAccess at_index(LoopAccess, int load, int64_t stride, int64_t extent);
// Tuples of indices (the last dimension of `tuples`) into a tensor of this shape become addresses in a
// temporary, counted in elements of the shape; negative indices count from the end.
LoopView flat_addresses(LoopBuilder&, const LoopView& tuples, const Shape& shape);

}  // namespace cs::ops

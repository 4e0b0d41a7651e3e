// What streamed attention (attention.cpp) takes: cycles of a block as attention_row.csl is compiled, and how
// its columns and rows follow each other.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/kernels/kernels.h"

namespace cs::kernels::attention {

// Queries and keys of one head.
inline int64_t queries(const Work& work) { return work.m / work.row; }
inline int64_t keys(const Work& work) { return work.n / work.row; }
// Bytes of an element of them on a PE.
inline int64_t element_bytes(const Work& work) { return work.native ? 2 : 4; }
// With as many waiting blocks as PEs have room for. Nothing if descriptors cannot count what a PE would have.
std::optional<Plan> plan(const Work&, const Cut&, const Machine&);

}  // namespace cs::kernels::attention

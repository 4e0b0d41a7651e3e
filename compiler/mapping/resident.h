// Programs whose operands and results lie on the PEs, as host programs of the vendor's SDK use kernels: the
// host copies in, launches, copies out. One kernel, with the same text on every PE of a rectangle; no stream,
// no feeder.
//
//   elementwise   every PE has a slice of every operand; the result takes the place of the first one
//   rows          every PE has whole rows, in place
//   reductions    every PE has whole rows, or the PEs of a row of the rectangle have a piece of each row and
//   their sums
//                 meet on the first one (reduce.csl)
//   products      a square of PEs has tiles of all three matrices (resident_product.csl)
//   transposes    a square of PEs has tiles of the matrix, or every PE whole matrices (transpose.csl)
//   convolutions  columns of PEs have rows of the result and the windows that these need, rows of PEs output
//   channels
//                 (resident_conv.csl)
//   concats       every PE has whole rows of all operands, or columns
//   attention     every PE of a row has as many queries, keys and values of a head; the latter go round
//   (resident_attention.csl)
// Each kind says what lies where (kernels::ResidentArrays). 16-bit floats become f32 where they lie, before
// the kernel begins; its result is one of them again (resident_text.cpp). What else there is (regions) is
// refused, with the reason.
#pragma once

#include "compiler/mapping/instances.h"

namespace cs::mapping {

// From the parts of a graph: sizes the kernel, writes its files, host steps and reports. False: reported in
// diag.
bool map_resident(const graph::Graph&, Parts&, const MapOptions&, const Machine&, Mapped&, Diag&);

}  // namespace cs::mapping

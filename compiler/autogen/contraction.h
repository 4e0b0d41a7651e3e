// DTG for one contraction loop nest: y[m] = W[m, n] x[n] + b, output rows over PE rows, reduction over PE
// columns.
//
// The generator writes one CSL module per role (place in the row, extents) with every extent and every branch
// on the role already decided, the inner loop unrolled and the epilogue inlined. Parameters of the module:
//   w: [*]f32, native [*]f16 · b: [*]f32 · c<j>: [*]f32 · x_color, x_queue · west_color, west_queue ·
//   east_color, east_queue · control: u32 · compute_id, start_id   (as in the library's gemv.csl; those
//   a role does not need are absent) · of weights in bytes, instead of w: y: [*]f32 ·
//   multiply: fn([*]f32) void · prepare: fn() void
#pragma once

#include <optional>
#include <string>

#include "compiler/autogen/expression.h"

namespace cs::autogen {

struct ContractionSpec {
  std::string title, sharding;
  int m = 1, m_padded = 2, n = 1;  // outputs and inputs of this PE; columns of W are m_padded elements apart
  bool first = true, last = true;  // column of the rectangle
  bool send_control = false;
  bool half = false;                  // x and the result are streams of 16-bit floats
  bool native = false;                // w and x are [*]f16, multiplied as they are; sums are f32
  bool bytes = false;                 // y and multiply(x) belong to another module (byte_columns.csl)
  std::optional<ops::Expr> epilogue;  // operand 0 is y, then constants
  int constants = 0;
};

std::string contraction_module(const ContractionSpec&, const Machine&);

}  // namespace cs::autogen

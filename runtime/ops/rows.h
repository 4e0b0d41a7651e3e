// Building rows of the operator table: the forms that many rows share, and the lists of rows by theme.
#pragma once

#include <limits>

#include "runtime/ops/ops.h"

namespace cs::ops {

using Names = std::vector<std::string_view>;
using AttrDefs = std::vector<AttrDef>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr auto kInt = AttrKind::integer;
inline constexpr auto kInts = AttrKind::integers;

AttrDef real(std::string_view name, double value);
AttrDef integer(std::string_view name, int64_t value);
AttrDef integers(std::string_view name, bool required = false);
AttrDef text(std::string_view name, std::string value);

// Elementwise rows.
OpDef unary(std::string_view name, Names onnx, AttrDefs attrs, std::string_view expression,
            std::string_view derivative, double ulp = 2);
OpDef binary(std::string_view name, Names onnx, std::string_view expression, std::string_view derivative,
             double ulp = 1);
OpDef predicate(std::string_view name, Names onnx, Names operands, std::string_view expression);
OpDef folded(OpDef d);  // ONNX's form is variadic
OpDef noted(OpDef d, std::string_view note);

OpDef reduce(std::string_view name, Names onnx);
OpDef compound(std::string_view name, Names onnx, AttrDefs attrs, ShapeRule shape,
               std::string_view decomposition);
// A compound whose steps depend on the operands.
OpDef by_steps(std::string_view name, Names onnx, Names operands, int optional, AttrDefs attrs,
               ShapeRule shape, DecompositionRule steps);
OpDef compound_reduce(std::string_view name, Names onnx, std::string_view decomposition);
OpDef view(std::string_view name, Names onnx, AttrDefs attrs, ShapeRule shape);
// Rows that are defined by a loop rule.
OpDef by_loops(OpKind kind, std::string_view name, Names onnx, Names operands, int optional, AttrDefs attrs,
               ShapeRule shape, LoopRule loops);

using Rows = std::vector<OpDef>;
void add_inverse_functions(Rows&);  // rows_inverse.cpp
void add_convolutions(Rows&);       // rows_convolution.cpp
void add_pools(Rows&);              // rows_pool.cpp
void add_normalizations(Rows&);     // rows_normalization.cpp
void add_slices(Rows&);             // rows_slice.cpp: parts and repetitions
void add_pads(Rows&);               // rows_pad.cpp
void add_indexed(Rows&);            // rows_index.cpp: gather and scatter
void add_scatters(Rows&);           // rows_scatter.cpp
void add_searches(Rows&);           // rows_search.cpp: arg max, top-k, one-hot
void add_sources(Rows&);            // rows_source.cpp: constants, ranges, shapes
void add_data_dependent(Rows&);     // rows_data.cpp: results whose shape depends on values
void add_recurrences(Rows&);        // rows_recurrent.cpp
void add_resizes(Rows&);            // rows_resize.cpp
void add_quantisations(Rows&);      // rows_quantize.cpp
void add_integer_products(Rows&);   // rows_integer.cpp; after convolutions
void add_whole_batch(Rows&);         // rows_batch.cpp
void add_algebra(Rows&);            // rows_algebra.cpp: einsum, determinant
void add_losses(Rows&);             // rows_losses.cpp
void add_ctc(Rows&);                // rows_ctc.cpp
void add_custom_loss(Rows&);        // rows_custom_loss.cpp
void add_attention(Rows&);          // rows_attention.cpp
void add_optimizers(Rows&);         // rows_optimizers.cpp
void add_gradient_scaling(Rows&);   // rows_gradient_scaling.cpp: clipping, loss scales

}  // namespace cs::ops

// Shape rules and reference implementations that the rows of the operator table point at.
#pragma once

#include "runtime/ops/ops.h"

namespace cs::ops {

#define CS_SHAPE_RULE(name) \
  bool name(const ShapeContext&, std::vector<TensorType>& outputs, std::string& error)
CS_SHAPE_RULE(shape_elementwise);
CS_SHAPE_RULE(shape_where);
CS_SHAPE_RULE(shape_pow);
CS_SHAPE_RULE(shape_cast);
CS_SHAPE_RULE(shape_same);
CS_SHAPE_RULE(shape_gemm);
CS_SHAPE_RULE(shape_matmul);
CS_SHAPE_RULE(shape_reduce);
CS_SHAPE_RULE(shape_reshape);
CS_SHAPE_RULE(shape_flatten);
CS_SHAPE_RULE(shape_squeeze);
CS_SHAPE_RULE(shape_unsqueeze);
CS_SHAPE_RULE(shape_transpose);
CS_SHAPE_RULE(shape_concat);
CS_SHAPE_RULE(shape_constant);
#undef CS_SHAPE_RULE

#define CS_REFERENCE(name)                                                                         \
  bool name(const ShapeContext&, std::span<const Tensor* const> inputs, std::span<Tensor> outputs, \
            std::string& error)
CS_REFERENCE(reference_gemm);
CS_REFERENCE(reference_matmul);
CS_REFERENCE(reference_reduce);
CS_REFERENCE(reference_view);
CS_REFERENCE(reference_transpose);
CS_REFERENCE(reference_concat);
CS_REFERENCE(reference_constant);
#undef CS_REFERENCE

#define CS_LOOPS(name) \
  bool name(const ShapeContext&, std::span<const TensorType> outputs, LoopProgram&, std::string& error)
CS_LOOPS(loops_gemm);
CS_LOOPS(loops_matmul);
CS_LOOPS(loops_reduce);
CS_LOOPS(loops_transpose);
CS_LOOPS(loops_concat);
CS_LOOPS(loops_constant);
CS_LOOPS(loops_copy);  // views: elements in order
#undef CS_LOOPS

std::string dims_text(const Shape&);              // "[2, 3]"
bool fail(std::string& error, std::string what);  // false
// Operands `first` and later that are there have one element type.
bool same_dtype(const ShapeContext&, size_t first, std::string& error);
// Values of OpDef::constant_operands are there.
bool values_known(const ShapeContext&, std::string& error);
// An attribute axis of operand 0; nothing (and an error) if it is out of range.
std::optional<int> axis_of(const ShapeContext&, std::string_view attr, std::string& error);
std::vector<int64_t> all_axes(int rank);  // 0, 1, …
// Smallest and largest value of a type, where maxima and minima start: -inf of floats.
double lowest_of(DataType);
double highest_of(DataType);

// An axis attribute counted from the end if negative; nothing if out of range for `rank`.
std::optional<int> normal_axis(int64_t axis, int rank);
// The axes a reduction removes: all if the attribute is empty. Nothing (and an error) if one is out of range.
std::optional<std::vector<bool>> reduced_axes(const ShapeContext&, std::string& error);

}  // namespace cs::ops

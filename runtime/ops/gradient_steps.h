// Writing gradient rules: the operands and results under their positional names, and gradients that are
// summed back to the shape of a broadcast operand.
#pragma once

#include "runtime/ops/gradient.h"
#include "runtime/ops/steps.h"
#include "runtime/ops/windows.h"

namespace cs::ops {

class GradientSteps : public Steps {
 public:
  GradientSteps(const GradientCall& call, std::vector<DecompositionStep>& steps)
      : Steps(steps), call_(call) {}

  static std::string x(size_t k = 0) { return "x" + std::to_string(k); }
  static std::string y(size_t k = 0) { return "y" + std::to_string(k); }
  static std::string dy(size_t k = 0) { return "dy" + std::to_string(k); }
  const TensorType& in(size_t k = 0) const { return *call_.inputs[k]; }
  const TensorType& out(size_t k = 0) const { return call_.outputs[k]; }

  // `value`, which has this shape, is the gradient of operand k, over dimensions along which it was repeated.
  void give(size_t k, const std::string& value, const Shape& shape);
  // The same, of the operand's own shape.
  void give(size_t k, const std::string& value) { give(k, value, in(k).shape); }
  // `value` summed over the dimensions that `to` lacks or has once.
  std::string summed(const std::string& value, const Shape& from, const Shape& to);

  std::string zeros(const TensorType&);
  std::string filled(double value, const TensorType&);
  std::string cast(const std::string& value, DataType);
  std::string slice(const std::string& value, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  // With zeros before and behind it, along one dimension.
  std::string pad(const std::string& value, int rank, int64_t axis, int64_t before, int64_t behind);

 private:
  const GradientCall& call_;
};

// Attributes of constant_of_shape.
Attrs fill(double value, const TensorType&);
// A copy of what a step makes gives that step its name.
void drop_copies(std::vector<DecompositionStep>&);
// Steps from which none of these names follows fall away.
void drop_unused(std::vector<DecompositionStep>&, const std::vector<std::string>& names);
// A transposed convolution over these windows, of a value that has one element per window.
std::string windows_transposed(GradientSteps&, const std::string& value, const std::string& weights,
                               const Window&, int64_t groups);
// The derivatives of an elementwise row.
bool gradient_of_expression(const GradientCall&, std::vector<DecompositionStep>&, std::string& error);

#define CS_GRADIENT(name) bool name(const GradientCall&, std::vector<DecompositionStep>&, std::string& error)
// gradient_elementwise.cpp
CS_GRADIENT(gradient_of_where);
CS_GRADIENT(gradient_of_cast);
CS_GRADIENT(gradient_of_pow);
// gradient_reductions.cpp
CS_GRADIENT(gradient_of_sum);
CS_GRADIENT(gradient_of_mean);
CS_GRADIENT(gradient_of_extreme);
CS_GRADIENT(gradient_of_product);
CS_GRADIENT(gradient_of_log_sum_exp);
CS_GRADIENT(gradient_of_norm);
CS_GRADIENT(gradient_of_softmax);
CS_GRADIENT(gradient_of_log_softmax);
CS_GRADIENT(gradient_of_cum_sum);
// gradient_products.cpp
CS_GRADIENT(gradient_of_gemm);
CS_GRADIENT(gradient_of_matmul);
CS_GRADIENT(gradient_of_einsum);
CS_GRADIENT(gradient_of_conv);
CS_GRADIENT(gradient_of_conv_transpose);
// gradient_windows.cpp
CS_GRADIENT(gradient_of_max_pool);
CS_GRADIENT(gradient_of_average_pool);
CS_GRADIENT(gradient_of_lp_pool);
CS_GRADIENT(gradient_of_max_unpool);
CS_GRADIENT(gradient_of_lrn);
CS_GRADIENT(gradient_of_resize);
// gradient_moves.cpp
CS_GRADIENT(gradient_of_view);
CS_GRADIENT(gradient_of_transpose);
CS_GRADIENT(gradient_of_concat);
CS_GRADIENT(gradient_of_split);
CS_GRADIENT(gradient_of_slice);
CS_GRADIENT(gradient_of_pad);
CS_GRADIENT(gradient_of_tile);
CS_GRADIENT(gradient_of_expand);
CS_GRADIENT(gradient_by_itself);
CS_GRADIENT(gradient_of_places);
// gradient_indices.cpp
CS_GRADIENT(gradient_of_gather);
CS_GRADIENT(gradient_of_gather_elements);
CS_GRADIENT(gradient_of_gather_nd);
CS_GRADIENT(gradient_of_scatter);
CS_GRADIENT(gradient_of_top_k);
CS_GRADIENT(gradient_of_one_hot);
// gradient_recurrent.cpp
CS_GRADIENT(gradient_of_recurrence);
#undef CS_GRADIENT

}  // namespace cs::ops

// Functions of tensors: while a function is traced each call is a node of its graph, elsewhere the host
// computes it at once. op() makes a node of any row of the operator table (`cs-compile --list-ops`); the
// others are rows with a name of their own. Types of results come from the row's shape rule; operands that do
// not fit are a StaticGraphError with the line of the call.
#pragma once

#include <string>
#include <vector>

#include "runtime/program/host_part.h"
#include "tools/api/trace/tensor.h"

namespace cs {

// A node of this row with one result. At least one operand must be given, for its line: {x, 2.0,
// std::nullopt}.
Tensor op(const std::string& row, const std::vector<TensorArg>& operands, const Attrs& attrs = {});
// With the first so many results.
std::vector<Tensor> op_results(const std::string& row, const std::vector<TensorArg>& operands, size_t results,
                               const Attrs& attrs = {});

// Element by element, with broadcasting.
Tensor operator+(const TensorArg& a, const TensorArg& b);
Tensor operator-(const TensorArg& a, const TensorArg& b);
Tensor operator*(const TensorArg& a, const TensorArg& b);
Tensor operator/(const TensorArg& a, const TensorArg& b);
Tensor operator-(const TensorArg& a);
// Of booleans. There is no ==, which people take for one of C++: equal().
Tensor operator>(const TensorArg& a, const TensorArg& b);
Tensor operator<(const TensorArg& a, const TensorArg& b);
Tensor operator>=(const TensorArg& a, const TensorArg& b);
Tensor operator<=(const TensorArg& a, const TensorArg& b);
Tensor equal(const TensorArg& a, const TensorArg& b);
Tensor maximum(const TensorArg& a, const TensorArg& b);
Tensor minimum(const TensorArg& a, const TensorArg& b);
Tensor where(const TensorArg& condition, const TensorArg& yes, const TensorArg& no);

Tensor relu(const TensorArg& x);
Tensor leaky_relu(const TensorArg& x, double negative_slope = 0.01);
Tensor tanh(const TensorArg& x);
Tensor sigmoid(const TensorArg& x);
Tensor gelu(const TensorArg& x);
Tensor exp(const TensorArg& x);
Tensor log(const TensorArg& x);
Tensor sqrt(const TensorArg& x);
Tensor square(const TensorArg& x);
Tensor abs(const TensorArg& x);

Tensor matmul(const TensorArg& a, const TensorArg& b);
// x [..., in] with weight [out, in] and bias [out] (or none): x Wᵀ + b of [..., out].
Tensor linear(const TensorArg& x, const TensorArg& weight, const TensorArg& bias = std::nullopt);
Tensor softmax(const TensorArg& x, int64_t axis = -1);

// Over these axes, or all of them; `keep` leaves them in the shape with extent 1.
Tensor sum(const TensorArg& x, const std::vector<int64_t>& axes = {}, bool keep = false);
Tensor mean(const TensorArg& x, const std::vector<int64_t>& axes = {}, bool keep = false);

// -1 stands for one extent that follows from the others.
Tensor reshape(const TensorArg& x, const ops::Shape& shape);
Tensor transpose(const TensorArg& x, const std::vector<int64_t>& permutation);

}  // namespace cs

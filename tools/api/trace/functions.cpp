// Each function is a node of a row; shape and type are the row's business.
#include "tools/api/trace/functions.h"

#include "tools/api/trace/tracer.h"

namespace cs {

std::vector<Tensor> op_results(const std::string& row, const std::vector<TensorArg>& operands, size_t results,
                               const Attrs& attrs) {
  return tracing::apply(row, operands, attrs, results);
}
Tensor op(const std::string& row, const std::vector<TensorArg>& operands, const Attrs& attrs) {
  return op_results(row, operands, 1, attrs)[0];
}

Tensor operator+(const TensorArg& a, const TensorArg& b) { return op("add", {a, b}); }
Tensor operator-(const TensorArg& a, const TensorArg& b) { return op("sub", {a, b}); }
Tensor operator*(const TensorArg& a, const TensorArg& b) { return op("mul", {a, b}); }
Tensor operator/(const TensorArg& a, const TensorArg& b) { return op("div", {a, b}); }
Tensor operator-(const TensorArg& a) { return op("neg", {a}); }
Tensor operator>(const TensorArg& a, const TensorArg& b) { return op("greater", {a, b}); }
Tensor operator<(const TensorArg& a, const TensorArg& b) { return op("less", {a, b}); }
Tensor operator>=(const TensorArg& a, const TensorArg& b) { return op("greater_or_equal", {a, b}); }
Tensor operator<=(const TensorArg& a, const TensorArg& b) { return op("less_or_equal", {a, b}); }
Tensor equal(const TensorArg& a, const TensorArg& b) { return op("equal", {a, b}); }
Tensor maximum(const TensorArg& a, const TensorArg& b) { return op("max", {a, b}); }
Tensor minimum(const TensorArg& a, const TensorArg& b) { return op("min", {a, b}); }
Tensor where(const TensorArg& condition, const TensorArg& yes, const TensorArg& no) {
  return op("where", {condition, yes, no});
}

Tensor relu(const TensorArg& x) { return op("relu", {x}); }
Tensor leaky_relu(const TensorArg& x, double negative_slope) {
  return op("leaky_relu", {x}, {{"alpha", negative_slope}});
}
Tensor tanh(const TensorArg& x) { return op("tanh", {x}); }
Tensor sigmoid(const TensorArg& x) { return op("sigmoid", {x}); }
Tensor gelu(const TensorArg& x) { return op("gelu", {x}); }
Tensor exp(const TensorArg& x) { return op("exp", {x}); }
Tensor log(const TensorArg& x) { return op("log", {x}); }
Tensor sqrt(const TensorArg& x) { return op("sqrt", {x}); }
Tensor square(const TensorArg& x) { return op("square", {x}); }
Tensor abs(const TensorArg& x) { return op("abs", {x}); }

Tensor matmul(const TensorArg& a, const TensorArg& b) { return op("matmul", {a, b}); }

Tensor linear(const TensorArg& x, const TensorArg& weight, const TensorArg& bias) {
  const Place at = place_of(x.where);
  if (!x.tensor || !weight.tensor) throw StaticGraphError("linear() takes tensors", at);
  const ops::Shape& in = x.tensor->shape();
  const ops::Shape& w = weight.tensor->shape();
  if (w.size() != 2 || in.empty() || in.back() != w[1])
    throw StaticGraphError("linear(): the input is " + ops::type_text(x.tensor->type()) + ", the weight " +
                               ops::type_text(weight.tensor->type()) + "; the last extents must be equal",
                           at);
  const Attrs attrs = {{"trans_b", int64_t(1)}};
  if (in.size() == 2) return op("gemm", {x, weight, bias}, attrs);
  const TensorArg rows(reshape(x, {-1, in.back()}), x.where);
  ops::Shape out = in;
  out.back() = w[0];
  return reshape(TensorArg(op("gemm", {rows, weight, bias}, attrs), x.where), out);
}

Tensor softmax(const TensorArg& x, int64_t axis) { return op("softmax", {x}, {{"axis", axis}}); }

static Tensor reduce(const char* row, const TensorArg& x, std::vector<int64_t> axes, bool keep) {
  Attrs attrs = {{"keepdims", int64_t(keep)}};
  if (!axes.empty()) attrs.emplace_back("axes", std::move(axes));
  return op(row, {x}, attrs);
}
Tensor sum(const TensorArg& x, const std::vector<int64_t>& axes, bool keep) {
  return reduce("reduce_sum", x, axes, keep);
}
Tensor mean(const TensorArg& x, const std::vector<int64_t>& axes, bool keep) {
  return reduce("reduce_mean", x, axes, keep);
}

Tensor reshape(const TensorArg& x, const ops::Shape& shape) { return op("reshape", {x}, {{"shape", shape}}); }
Tensor transpose(const TensorArg& x, const std::vector<int64_t>& permutation) {
  return op("transpose", {x}, {{"perm", permutation}});
}

}  // namespace cs

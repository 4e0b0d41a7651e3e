// What a gemm has beside its operands, as kernels for products need it: the bias, transposes, a factor.
#include "compiler/kernels/match_parts.h"

namespace cs::kernels {

bool is_transposed(const graph::Node& node, int operand) {
  const char* flag = operand == 0 ? "trans_a" : "trans_b";
  return node.op == "gemm" && ops::attr_int(*ops::find_op(node.op), node.attrs, flag) != 0;
}

double factor_of(const graph::Node& node) {
  return node.op == "gemm" ? ops::attr_real(*ops::find_op(node.op), node.attrs, "alpha") : 1;
}

bool has_bias(const graph::Node& node) {
  return node.op == "gemm" && node.inputs.size() > 2 && node.inputs[2].valid();
}

std::vector<float> bias_of(const graph::Graph& g, const graph::Node& node, int64_t m) {
  std::vector<float> bias(size_t(m), 0.0F);
  if (!has_bias(node)) return bias;
  const ops::Tensor& c = *g.constant_of(graph::source_of(g, node.inputs[2]));
  const double beta = ops::attr_real(*ops::find_op(node.op), node.attrs, "beta");
  for (int64_t i = 0; i < m; ++i) bias[size_t(i)] = float(beta) * float(c.get(c.elements() == 1 ? 0 : i));
  return bias;
}

bool bias_is_constant(const graph::Graph& g, const graph::Node& node, std::string& why) {
  if (!has_bias(node) || operand(g, node, 2).is_constant()) return true;
  why = "the bias is not constant";
  return false;
}

bool bias_fits(const graph::Graph& g, const graph::Node& node, int64_t m, std::string& why) {
  if (!bias_is_constant(g, node, why)) return false;
  if (!has_bias(node)) return true;
  const graph::Value& bias = operand(g, node, 2);
  if (bias.type.elements() == 1) return true;
  // As many elements as columns, but in a column: one per row.
  if (bias.type.elements() != m || bias.type.shape.back() != m) {
    why = "the bias differs from row to row";
    return false;
  }
  return true;
}

}  // namespace cs::kernels

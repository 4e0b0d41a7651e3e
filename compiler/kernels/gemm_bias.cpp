// The bias of a gemm, as kernels for products need it.
#include "compiler/kernels/match_parts.h"

namespace cs::kernels {

std::vector<float> bias_of(const graph::Graph& g, const graph::Node& node, int64_t m) {
  std::vector<float> bias(size_t(m), 0.0F);
  if (node.op != "gemm" || node.inputs.size() < 3 || !node.inputs[2].valid()) return bias;
  const ops::Tensor& c = *g.constant_of(graph::source_of(g, node.inputs[2]));
  const double beta = ops::attr_real(*ops::find_op(node.op), node.attrs, "beta");
  for (int64_t i = 0; i < m; ++i) bias[size_t(i)] = float(beta) * float(c.get(c.elements() == 1 ? 0 : i));
  return bias;
}

bool bias_fits(const graph::Graph& g, const graph::Node& node, int64_t m, std::string& why) {
  if (node.op != "gemm" || node.inputs.size() < 3 || !node.inputs[2].valid()) return true;
  const graph::Value& bias = operand(g, node, 2);
  if (!bias.is_constant()) {
    why = "the bias is not constant";
    return false;
  }
  if (bias.type.elements() == 1) return true;
  // As many elements as columns, but in a column: one per row.
  if (bias.type.elements() != m || bias.type.shape.back() != m) {
    why = "the bias differs from row to row";
    return false;
  }
  return true;
}

}  // namespace cs::kernels

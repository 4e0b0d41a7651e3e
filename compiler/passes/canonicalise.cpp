// One form for the same thing, so that later passes match fewer patterns:
//   identity, dropout          their operand takes their place
//   gemm with alpha, beta      the factors go into constant weights and bias
//   cast to booleans           the comparison that it is: a PE's conversion would cut off the fraction
//   matmul + constant vector   a gemm with a bias (also gemm without bias + constant vector)
//   qlinear_conv, qlinear_matmul with constant weights   their parts
//   dequantize(quantize(x))    one operator in floating point
//   parts of a value           operators on all of them become operators on the value (rewrites.h)
#include <fmt/format.h>

#include "compiler/graph/expand.h"
#include "compiler/graph/fold.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// A graph output needs a node that is no other output: an identity between an input and an output stays.
bool can_bypass(const Graph& g, NodeId id) {
  const graph::Value& from = g.value(g.node(id).outputs[0]);
  const graph::Value& to = g.value(g.node(id).inputs[0]);
  return !from.is_output || (to.producer.valid() && !to.is_output);
}

ValueId scaled(Graph& g, ValueId constant, double factor, const std::string& name) {
  ops::Tensor t = *g.constant_of(constant);
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, t.get(i) * factor);
  const int sample_dim = g.value(constant).sample_dim;
  ValueId made = g.add_constant(g.fresh_name(name), std::move(t));
  g.value(made).sample_dim = sample_dim;
  return made;
}

void fold_factors(Graph& g, NodeId id) {
  const ops::OpDef& row = g.op(id);
  double alpha = ops::attr_real(row, g.node(id).attrs, "alpha"),
         beta = ops::attr_real(row, g.node(id).attrs, "beta");
  if (alpha != 1 && g.value(g.node(id).inputs[1]).is_constant()) {
    g.set_input_of(id, 1, scaled(g, g.node(id).inputs[1], alpha, g.node(id).name + "_weights"));
    ops::set_attr(g.node(id).attrs, "alpha", 1.0);
  }
  bool has_bias = g.node(id).inputs.size() > 2 && g.node(id).inputs[2].valid();
  if (beta != 1 && (!has_bias || g.value(g.node(id).inputs[2]).is_constant())) {
    if (has_bias) g.set_input_of(id, 2, scaled(g, g.node(id).inputs[2], beta, g.node(id).name + "_bias"));
    ops::set_attr(g.node(id).attrs, "beta", 1.0);
  }
}

bool takes_bias(const Graph& g, NodeId product) {
  const graph::Node& n = g.node(product);
  if (n.op != "matmul" && n.op != "gemm") return false;
  const graph::Value& a = g.value(n.inputs[0]);
  const graph::Value& b = g.value(n.inputs[1]);
  if (a.type.rank() != 2 || b.type.rank() != 2) return false;
  bool has_bias = n.inputs.size() > 2 && n.inputs[2].valid();
  return !has_bias && g.value(n.outputs[0]).users.size() == 1 && !g.value(n.outputs[0]).is_output;
}

// add(product, constant) where the constant is one value per column: the product takes it as its bias.
bool absorb_bias(Graph& g, NodeId add) {
  for (size_t side = 0; side < 2; ++side) {
    ValueId value = g.node(add).inputs[side], bias = g.node(add).inputs[1 - side];
    NodeId product = g.value(value).producer;
    if (!product.valid() || !g.value(bias).is_constant() || !takes_bias(g, product)) continue;
    const ops::Shape &out = g.value(value).type.shape, &shape = g.value(bias).type.shape;
    bool per_column = g.value(bias).type.elements() == out[1] && !shape.empty() && shape.back() == out[1];
    if (!per_column || g.value(g.node(add).outputs[0]).type.shape != out) continue;
    graph::Node n;
    n.name = g.fresh_name(g.node(product).name + "_bias");
    n.op = "gemm";
    n.inputs = {g.node(product).inputs[0], g.node(product).inputs[1], bias};
    n.attrs = g.node(product).op == "gemm" ? g.node(product).attrs : Attrs{};
    n.loc = g.node(product).loc;
    n.where = g.node(product).where + " with " + g.node(add).where;
    std::string old_name = g.node(product).name;
    ValueId old_result = g.node(add).outputs[0];
    std::string result_name = g.value(old_result).name;
    NodeId made = g.add_node(std::move(n));
    ValueId result = g.add_result(made, g.fresh_name(result_name));
    g.value(result).type = g.value(old_result).type;
    g.value(result).typed = true;
    g.value(result).sample_dim = g.value(old_result).sample_dim;
    g.replace_uses(old_result, result);
    g.erase(add);
    g.erase(product);
    return true;
  }
  return false;
}

bool same_constant(const Graph& g, const graph::Node& a, const graph::Node& b, size_t k) {
  const bool first = k < a.inputs.size() && a.inputs[k].valid(),
             second = k < b.inputs.size() && b.inputs[k].valid();
  if (!first || !second) return first == second;
  const ops::Tensor *t = g.constant_of(a.inputs[k]), *u = g.constant_of(b.inputs[k]);
  return t != nullptr && u != nullptr && t->type == u->type && t->bytes == u->bytes;
}

// dequantize(quantize(x)) with one scale and zero point stays in floating point: the numbers between are
// whole and small.
void join_quantisation(Graph& g, NodeId id) {
  const NodeId from = g.value(g.node(id).inputs[0]).producer;
  if (!from.valid() || g.node(from).op != "quantize_linear") return;
  const graph::Node &q = g.node(from), &d = g.node(id);
  const bool same = same_constant(g, q, d, 1) && same_constant(g, q, d, 2) &&
                    ops::attr_int(g.op(from), q.attrs, "axis") == ops::attr_int(g.op(id), d.attrs, "axis");
  if (!same || g.value(q.inputs[0]).type != g.value(d.outputs[0]).type) return;
  const std::vector<ValueId> operands = q.inputs;
  g.set_inputs_of(id, operands);
  g.node(id).op = "quantize_dequantize";
}

// A quantised product with constant weights becomes its parts, and what dequantises the weights is folded: kernels
// see numbers that take a byte.
bool take_apart(Graph& g, NodeId id, Diag& diag) {
  constexpr size_t kWeights = 3, kZero = 5;  // operands: value, scale, zero point
  const graph::Node& n = g.node(id);
  for (size_t k = kWeights; k <= kZero; ++k)
    if (k < n.inputs.size() && n.inputs[k].valid() && g.constant_of(n.inputs[k]) == nullptr) return true;
  const size_t before = g.node_slots();
  if (!graph::expand(g, id, diag)) return false;
  for (size_t i = before; i < g.node_slots(); ++i) {
    const NodeId part{int32_t(i)};
    if (!g.node(part).alive) continue;
    if (graph::can_fold(g, part)) {
      if (!graph::fold_node(g, part, diag)) return false;
    } else if (g.node(part).op == "dequantize_linear") {
      join_quantisation(g, part);
    }
  }
  return true;
}

// A sum, mean, maximum, minimum or product over no axis.
bool reduces_nothing(const Graph& g, NodeId id) {
  const ops::OpDef& op = g.op(id);
  return op.kind == ops::OpKind::reduction && ops::attr_ints(op, g.node(id).attrs, "axes").empty() &&
         ops::attr_int(op, g.node(id).attrs, "noop_with_empty_axes") != 0;
}

bool casts_to_boolean(const Graph& g, NodeId id) {
  const graph::Node& n = g.node(id);
  return n.op == "cast" && g.value(n.outputs[0]).type.dtype == DataType::boolean;
}

}  // namespace

bool canonicalise(Graph& g, PassContext& context) {
  for (NodeId id : g.topological()) {
    const std::string& op = g.node(id).op;
    bool whole = op == "dropout" && g.node(id).outputs.size() == 1;
    if (op == "identity" || whole || reduces_nothing(g, id)) {
      if (!can_bypass(g, id)) continue;
      g.replace_uses(g.node(id).outputs[0], g.node(id).inputs[0]);
      g.erase(id);
    } else if (casts_to_boolean(g, id)) {
      g.node(id).op = "is_not_zero";
      g.node(id).attrs.clear();
    } else if (op == "gemm") {
      fold_factors(g, id);
    } else if (op == "add") {
      absorb_bias(g, id);
    } else if (op == "dequantize_linear") {
      join_quantisation(g, id);
    } else if ((op == "qlinear_conv" || op == "qlinear_matmul") && context.policy != Policy::disabled) {
      if (!take_apart(g, id, context.diag)) return false;
    }
  }
  g.remove_dead();
  return join_parts(g, context) && join_products(g, context);
}

}  // namespace cs::passes

// Products that move more than they compute, as broadcast, multiply and sum: one region whose PEs need not
// hold a matrix.
//
//   a[b, m, k] b[b, k, n]  =  sum over k of a[b, m, k, 1] * b[b, 1, k, n]
#include <algorithm>

#include "compiler/autogen/autogen.h"
#include "compiler/graph/expand.h"
#include "compiler/graph/sample.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// The operand with another dimension of one element before its last `behind` ones.
ValueId with_one(Rewriter& r, const Graph& g, ValueId v, int behind) {
  ops::Shape shape = r.type(v).shape;
  shape.insert(shape.end() - behind, 1);
  const ops::Tensor* t = g.constant_of(v);
  if (t == nullptr) return r.reshape(v, shape);
  ops::Tensor copy = *t;
  copy.type.shape = shape;
  return r.constant("matrix", std::move(copy));
}

bool decompose_product(Graph& g, NodeId id, Diag& diag) {
  Rewriter r(g, id, diag);
  const graph::Node& n = r.node();
  const ValueId a = with_one(r, g, n.inputs[0], 0), b = with_one(r, g, n.inputs[1], 2);
  const int64_t middle = r.type(a).rank() - 2;
  ValueId sums = r.op("reduce_sum", {r.op("mul", {a, b})},
                      {{"axes", std::vector<int64_t>{middle}}, {"keepdims", int64_t(0)}});
  if (n.inputs.size() > 2 && n.inputs[2].valid()) sums = r.op("add", {sums, n.inputs[2]});
  return r.replace({sums});
}

// What the product costs as one kernel, and its steps as one region.
std::optional<std::pair<kernels::Cost, kernels::Cost>> costs_of(const Graph& g, NodeId id,
                                                                PassContext& context, GroupCosts& costs) {
  Graph whole, parts;
  const auto product = graph::alone(g, id, whole, context.diag),
             other = graph::alone(g, id, parts, context.diag);
  if (!product || !other || !decompose_product(parts, *other, context.diag)) return std::nullopt;
  std::vector<NodeId> nodes = parts.topological();
  std::erase_if(nodes, [&](NodeId n) { return graph::is_transparent(parts, n); });
  parts.node(nodes.front()).assignment.kernel = kernels::generated_id(*kernels::region_kind());
  // Whatever the pass policy may make of it later.
  const graph::Assignment own = choose_origin(whole, *product, context.choosing());
  kernels::Cost best = cost_as(whole, *product, own, costs);
  std::string why;
  for (const kernels::Kind* kind : autogen::generators_for(whole, *product, why)) {
    const kernels::Cost cost =
        cost_as(whole, *product, {Origin::autogen, kernels::generated_id(*kind), "", "", {}}, costs);
    if (is_faster(cost, best)) best = cost;
  }
  return std::pair(best, costs.of(parts, nodes));
}

}  // namespace

bool is_memory_bound(const ProductExtents& p, const MemoryBoundLimits& limits) {
  if (p.batch > 1)
    return p.batch >= limits.least_batch && p.m <= limits.most_m && p.n <= limits.most_n &&
           p.k <= limits.most_k;
  return p.m >= limits.least_m && p.n <= limits.most_other && p.k <= limits.most_other;
}

bool product_extents(const Graph& g, NodeId id, ProductExtents& extents) {
  const graph::Node& n = g.node(id);
  if (n.op != "matmul" && n.op != "gemm") return false;
  if (n.op == "gemm") {
    const ops::OpDef& row = g.op(id);
    if (ops::attr_int(row, n.attrs, "trans_a") != 0 || ops::attr_int(row, n.attrs, "trans_b") != 0 ||
        ops::attr_real(row, n.attrs, "alpha") != 1 || ops::attr_real(row, n.attrs, "beta") != 1)
      return false;
  }
  const ops::Shape &a = g.value(n.inputs[0]).type.shape, &b = g.value(n.inputs[1]).type.shape;
  if (a.size() < 2 || b.size() < 2) return false;
  extents = {1, a[a.size() - 2], b.back(), a.back()};
  for (const int64_t extent : std::span(a).first(a.size() - 2)) extents.batch *= extent;
  // A stack of matrices times one matrix is one product of all their rows.
  if (b.size() == 2) extents.m *= std::exchange(extents.batch, 1);
  return true;
}

bool decompose_products(Graph& g, PassContext& context) {
  if (context.rewrites.products == Products::whole) return true;
  GroupCosts costs(context.known_costs());
  for (const NodeId id : g.topological()) {
    ProductExtents extents;
    if (g.node(id).assignment.origin || !product_extents(g, id, extents)) continue;
    if (context.rewrites.products == Products::rule) {
      if (is_memory_bound(extents) && !decompose_product(g, id, context.diag)) return false;
      continue;
    }
    const std::string name = g.node(id).name;
    const auto both = costs_of(g, id, context, costs);
    if (!both) continue;
    const bool faster = is_faster(both->second, both->first);
    note_choice(context, "decompose", name, {"one product", both->first, ""},
                {"broadcast, multiply and sum", both->second, ""}, faster);
    if (!faster) continue;
    context.benefits[name] = benefit_text(both->second, both->first, "one product");
    if (!decompose_product(g, id, context.diag)) return false;
  }
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes

// See find_attention.h.
#include "compiler/passes/find_attention.h"

#include <utility>

#include "compiler/graph/add_nodes.h"
#include "compiler/graph/sample.h"
#include "compiler/kernels/attention_graph.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

class Finder {
 public:
  Finder(Graph& g, NodeId end, kernels::Heads heads, Diag& diag)
      : g_(g),
        heads_(std::move(heads)),
        diag_(diag),
        like_(g.node(end)),
        shape_(g.value(like_.outputs[0]).type.shape) {}

  bool run() {
    const int64_t scores = heads_.queries * heads_.keys;
    if (heads_.mask && heads_.mask->elements() != scores && heads_.mask->elements() != heads_.count * scores)
      return true;
    Node n = named("attention");
    n.op = "attention";
    n.inputs = {matrices(heads_.q, heads_.queries), keys(), matrices(heads_.v, heads_.keys)};
    if (heads_.mask) n.inputs.push_back(mask());
    ops::set_attr(n.attrs, "scale", heads_.scale);
    for (const ValueId v : n.inputs)
      if (!v.valid()) return false;
    const ValueId y = graph::add_typed(g_, std::move(n), diag_);
    if (!y.valid()) return false;
    g_.replace_uses(like_.outputs[0], y);
    return true;
  }

 private:
  Node named(const char* what) const {
    Node n;
    n.name = g_.fresh_name(like_.name + "_" + what);
    n.where = like_.where;
    n.loc = like_.loc;
    n.from = like_.from;
    n.from_op = like_.from_op;
    return n;
  }
  ValueId add(const char* what, const char* op, ValueId of, const char* attr, std::vector<int64_t> list) {
    Node n = named(what);
    n.op = op;
    n.inputs = {of};
    ops::set_attr(n.attrs, attr, std::move(list));
    return graph::add_typed(g_, std::move(n), diag_);
  }
  ops::Shape stack_of(int64_t rows, int64_t columns) const {
    ops::Shape shape = shape_;
    shape[shape.size() - 2] = rows, shape.back() = columns;
    return shape;
  }
  // The value as a stack of matrices like the result's.
  ValueId viewed(ValueId v, ops::Shape shape) {
    if (g_.value(v).type.shape == shape) return v;
    return add("view", "reshape", v, "shape", std::move(shape));
  }
  ValueId matrices(ValueId v, int64_t rows) { return viewed(v, stack_of(rows, heads_.depth)); }

  // With a row for each key.
  ValueId keys() {
    if (!heads_.keys_by_columns) return matrices(heads_.k, heads_.keys);
    const NodeId from = g_.value(heads_.k).producer;
    std::vector<int64_t> perm;
    ValueId turned = heads_.k;
    const bool moved = from.valid() && g_.node(from).op == "transpose" &&
                       g_.value(heads_.k).type.shape == stack_of(heads_.depth, heads_.keys);
    if (moved) {
      perm = ops::attr_ints(g_.op(from), g_.node(from).attrs, "perm");
      turned = g_.node(from).inputs[0];
    } else {
      turned = viewed(heads_.k, stack_of(heads_.depth, heads_.keys));
    }
    if (!turned.valid()) return {};
    if (perm.empty())
      for (size_t d = 0; d < shape_.size(); ++d) perm.push_back(int64_t(moved ? shape_.size() - 1 - d : d));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return add("keys", "transpose", turned, "perm", std::move(perm));
  }
  ValueId mask() {
    // Of the scores' type, as the operator adds it.
    const bool of_all = heads_.mask->elements() == heads_.queries * heads_.keys;
    ops::Tensor t({g_.value(heads_.q).type.dtype,
                   of_all ? ops::Shape{heads_.queries, heads_.keys} : stack_of(heads_.queries, heads_.keys)});
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, heads_.mask->get(i));
    return g_.add_constant(g_.fresh_name(like_.name + "_mask"), std::move(t));
  }

  Graph& g_;
  const kernels::Heads heads_;
  Diag& diag_;
  const Node like_;
  const ops::Shape shape_;
};

}  // namespace

bool find_attention(Graph& g, PassContext& context) {
  if (!context.rewrites.attention) return true;
  bool any = false;
  for (const NodeId id : g.topological()) {
    const Node& n = g.node(id);
    if (!n.alive || n.assignment.origin || (n.op != "matmul" && n.op != "gemm") ||
        g.value(n.outputs[0]).type.rank() < 2)
      continue;
    const std::optional<kernels::Heads> heads = kernels::heads_before(g, id);
    if (!heads || g.value(n.outputs[0]).is_output) continue;
    if (!Finder(g, id, *heads, context.diag).run()) return false;
    any = true;
  }
  if (!any) return true;
  g.remove_dead();
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes

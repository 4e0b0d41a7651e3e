// Rules per operator kind. A rule returns the result's sample dimension, or an error text if samples would
// mix.
#include "compiler/graph/sample.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::graph {

namespace {

struct Context {
  const Graph& g;
  const Node& n;
  const ops::OpDef& row;
  std::string error;

  const Value& in(size_t i) const { return g.value(n.inputs[i]); }
  const Value& out() const { return g.value(n.outputs[0]); }
  int sample(size_t i) const { return n.inputs[i].valid() ? in(i).sample_dim : -1; }
  int mixes(const std::string& how) {
    error = fmt::format("{} would mix samples: {}", n.op, how);
    return -1;
  }
};

// Dimensions are aligned at the end, as broadcasting does; `fixed` trailing dimensions must not be the sample
// one.
int aligned(Context& c) {
  int result = -1;
  for (size_t i = 0; i < c.n.inputs.size(); ++i) {
    if (c.sample(i) < 0) continue;
    int dim = c.sample(i) + c.out().type.rank() - c.in(i).type.rank();
    if (result >= 0 && dim != result)
      return c.mixes("its operands have the sample dimension in different places");
    result = dim;
  }
  for (size_t i = 0; i < c.n.inputs.size() && result >= 0; ++i) {
    if (!c.n.inputs[i].valid()) continue;
    int dim = result - (c.out().type.rank() - c.in(i).type.rank());
    if (dim >= 0 && c.in(i).type.shape[size_t(dim)] != 1)
      return c.mixes("an operand is longer than one sample");
  }
  return result;
}

int of_gemm(Context& c) {
  bool ta = ops::attr_int(c.row, c.n.attrs, "trans_a") != 0,
       tb = ops::attr_int(c.row, c.n.attrs, "trans_b") != 0;
  int a = c.sample(0), b = c.sample(1), bias = c.n.inputs.size() > 2 ? c.sample(2) : -1;
  if ((a >= 0 && b >= 0) || a == !ta || b == (tb ? 1 : 0))
    return c.mixes("the product sums over the sample dimension");
  int result = a >= 0 ? 0 : b >= 0 ? 1 : -1;
  if (bias >= 0 && bias + 2 - c.in(2).type.rank() != result) return c.mixes("the bias has it elsewhere");
  return result;
}

int of_matmul(Context& c) {
  int ra = c.in(0).type.rank(), rb = c.in(1).type.rank(), ro = c.out().type.rank();
  int result = -1;
  for (size_t i = 0; i < 2; ++i) {
    int s = c.sample(i), rank = i == 0 ? ra : rb;
    if (s < 0) continue;
    int summed = i == 0 ? ra - 1 : std::max(0, rb - 2);
    if (s == summed) return c.mixes("the product sums over the sample dimension");
    // Counted from the end of the result, which lacks a dimension where an operand is a vector.
    int from_end = rank - 1 - s;
    if (i == 0 && rb == 1) --from_end;
    int dim = ro - 1 - from_end;
    if (result >= 0 && (dim != result || dim >= ro - 2)) return c.mixes("both operands have samples");
    result = dim;
  }
  return result;
}

int along_axes(Context& c, const std::vector<int64_t>& axes, bool keep, bool all) {
  int s = c.sample(0), rank = c.in(0).type.rank(), removed = 0;
  if (s < 0) return -1;
  for (int d = 0; d < rank; ++d) {
    bool hit = all;
    for (int64_t a : axes) hit = hit || (a < 0 ? a + rank : a) == d;
    if (hit && d == s) return c.mixes(fmt::format("it runs along dimension {}, which counts samples", s));
    if (hit && d < s && !keep) ++removed;
  }
  return s - removed;
}

// A view keeps the C order, so the sample dimension stays a dimension only if nothing but ones lie before it.
int of_view(Context& c) {
  int s = c.sample(0);
  if (s < 0 || c.in(0).type.shape == c.out().type.shape) return s;
  const ops::Shape &from = c.in(0).type.shape, &to = c.out().type.shape;
  // How many elements lie before it: that many must lie before it in the result as well.
  int64_t before = 1;
  for (int d = 0; d < s; ++d) before *= from[size_t(d)];
  int ones = 0;
  for (int d = 0; d < s; ++d) ones += from[size_t(d)] == 1;
  int64_t at = 1;
  int best = -1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (at == before && to[d] == 1) {
      if (best < 0 || ones-- > 0) best = int(d);
    }
    at *= to[d];
  }
  return best >= 0 ? best : c.mixes("the result has no dimension of its own for samples");
}

int of_transpose(Context& c) {
  std::vector<int64_t> perm = ops::attr_ints(c.row, c.n.attrs, "perm");
  int s = c.sample(0), rank = c.in(0).type.rank();
  if (s < 0) return -1;
  if (perm.empty()) return rank - 1 - s;
  return int(std::find(perm.begin(), perm.end(), s) - perm.begin());
}

int of_node(Context& c) {
  switch (c.row.kind) {
    case ops::OpKind::elementwise:
      return aligned(c);
    case ops::OpKind::contraction:
      return c.row.name == "gemm" ? of_gemm(c) : of_matmul(c);
    case ops::OpKind::reduction:
    case ops::OpKind::compound: {
      Attrs attrs = ops::with_defaults(c.row, c.n.attrs);
      if (ops::find_attr(attrs, "axes") == nullptr)
        return along_axes(c, {ops::attr_int(c.row, c.n.attrs, "axis")}, true, false);
      std::vector<int64_t> axes = ops::attr_ints(c.row, c.n.attrs, "axes");
      bool none = ops::attr_int(c.row, c.n.attrs, "noop_with_empty_axes") != 0;
      return along_axes(c, axes, ops::attr_int(c.row, c.n.attrs, "keepdims") != 0, axes.empty() && !none);
    }
    case ops::OpKind::view:
      return of_view(c);
    case ops::OpKind::movement:
      break;
    case ops::OpKind::source:
      return -1;
  }
  if (c.row.name == "transpose") return of_transpose(c);
  int64_t axis = ops::attr_int(c.row, c.n.attrs, "axis");
  if (axis < 0) axis += c.out().type.rank();
  int s = aligned(c);
  return s == axis && s >= 0 ? c.mixes("it joins along the sample dimension") : s;
}

}  // namespace

bool propagate_samples(Graph& g, Diag& diag) {
  bool ok = true, any = false;
  for (ValueId v : g.inputs) any = any || g.value(v).sample_dim >= 0;
  for (NodeId id : g.topological()) {
    const Node& n = g.node(id);
    if (n.outputs.empty()) continue;
    Context c{g, n, g.op(id), {}};
    int dim = any ? of_node(c) : -1;
    if (!c.error.empty()) {
      node_error(g, id, diag, c.error,
                 "give the number of samples: --dim NAME=N compiles the model for N at once");
      ok = false;
    }
    g.value(n.outputs[0]).sample_dim = dim;
  }
  for (ValueId v : g.outputs) {
    if (ok && any && g.value(v).sample_dim < 0) {
      diag.error_at(g.name, fmt::format("output '{}' does not depend on the sample", g.value(v).name));
      ok = false;
    }
  }
  return ok;
}

}  // namespace cs::graph

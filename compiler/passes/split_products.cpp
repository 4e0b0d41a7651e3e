// Convolutions and products whose sums are too long for a PE, as sums of shorter ones.
//
//   conv(x, w)         =  sum over p of conv(channels p of x, channels p of w): one convolution with p times
//   the
//                         groups, whose results are added up
//   A[m, k] B[k, n]    =  sum over p of A[m, p, c] B[p, c, n]
#include <cstring>

#include "compiler/passes/rewriter.h"
#include "compiler/passes/split.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<int64_t>;

int64_t behind(const ops::Shape& shape, size_t first) {
  int64_t n = 1;
  for (size_t d = first; d < shape.size(); ++d) n *= shape[d];
  return n;
}

// The smallest divisor above one that leaves `most` at most, or else the largest one.
int64_t divisor_for(int64_t n, int64_t most) {
  for (int64_t parts = 2; parts < n; ++parts)
    if (n % parts == 0 && n / parts <= most) return parts;
  return n;
}

// The filters of every group, first all for its first channels, then all for the next ones.
ops::Tensor filters_in_parts(const ops::Tensor& w, int64_t groups, int64_t parts) {
  const int64_t filters = w.type.shape[0], channels = w.type.shape[1] / parts;
  ops::TensorType type = w.type;
  type.shape[0] *= parts;
  type.shape[1] = channels;
  ops::Tensor out(type);
  const size_t run = out.bytes.size() / size_t(type.shape[0]);  // bytes of `channels` channels of a filter
  size_t to = 0;
  for (int64_t q = 0; q < groups; ++q)
    for (int64_t p = 0; p < parts; ++p)
      for (int64_t m = q * (filters / groups); m < (q + 1) * (filters / groups); ++m, to += run)
        std::memcpy(out.bytes.data() + to, w.bytes.data() + size_t(m * parts + p) * run, run);
  return out;
}

// The bias goes to the first part.
ops::Tensor bias_in_parts(const ops::Tensor& b, int64_t groups, int64_t parts) {
  const int64_t filters = b.elements() / groups;
  ops::Tensor out(ops::TensorType{b.type.dtype, {b.elements() * parts}});
  for (int64_t i = 0; i < b.elements(); ++i) out.set(i / filters * parts * filters + i % filters, b.get(i));
  return out;
}

}  // namespace

bool split_convolution(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const graph::Node& n = g.node(id);
  const ops::Tensor* w = g.constant_of(n.inputs[1]);
  const bool biased = n.inputs.size() > 2 && n.inputs[2].valid();
  const ops::Tensor* b = biased ? g.constant_of(n.inputs[2]) : nullptr;
  const ops::Shape x = g.value(n.inputs[0]).type.shape, y = g.value(n.outputs[0]).type.shape;
  if (!w || (biased && !b) || w->type.shape[1] < 2) return false;
  // Of an operand and of the filters a PE has some channels.
  const int64_t most = words / std::max(behind(x, 2), behind(w->type.shape, 2));
  const int64_t parts = divisor_for(w->type.shape[1], std::max<int64_t>(1, most));
  const int64_t groups = ops::attr_int(g.op(id), n.attrs, "group");
  ops::Tensor filters = filters_in_parts(*w, groups, parts);
  std::optional<ops::Tensor> bias;
  if (b) bias = bias_in_parts(*b, groups, parts);
  Rewriter r(g, id, diag);
  Attrs attrs = r.node().attrs;
  ops::set_attr(attrs, "group", groups * parts);
  std::vector<ValueId> inputs{r.node().inputs[0], r.constant("filters", std::move(filters))};
  if (bias) inputs.push_back(r.constant("bias", std::move(*bias)));
  const ValueId all = r.op("conv", std::move(inputs), std::move(attrs));
  const ValueId sums = r.op("reduce_sum", {r.reshape(all, {y[0], groups, parts, behind(y, 1) / groups})},
                            {{"axes", Ints{2}}, {"keepdims", int64_t(0)}});
  return r.replace({r.reshape(sums, y)});
}

bool split_product(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const graph::Node& n = g.node(id);
  const ops::Shape a = g.value(n.inputs[0]).type.shape, b = g.value(n.inputs[1]).type.shape,
                   y = g.value(n.outputs[0]).type.shape;
  if (a.size() < 2 || a.size() != b.size() || !std::equal(a.begin(), a.end() - 2, b.begin())) return false;
  const int64_t m = a[a.size() - 2], k = a.back(), columns = b.back();
  const int64_t parts = divisor_for(k, words), batch = behind(a, 0) / (m * k);
  if (k < 2) return false;
  Rewriter r(g, id, diag);
  const ValueId left = r.op("transpose", {r.reshape(r.node().inputs[0], {batch, m, parts, k / parts})},
                            {{"perm", Ints{0, 2, 1, 3}}});
  const ValueId right = r.reshape(r.node().inputs[1], {batch, parts, k / parts, columns});
  const ValueId sums =
      r.op("reduce_sum", {r.op("matmul", {left, right})}, {{"axes", Ints{1}}, {"keepdims", int64_t(0)}});
  return r.replace({r.reshape(sums, y)});
}

}  // namespace cs::passes

// Reductions, searches and running sums in parts, and the pass that calls these and the other rewritings.
//
//   reduce(x[n])    =  reduce over p of (reduce over c of x[p, c])
//   arg_max(x[n])   =  j c + i[j] with i[p] the place in part p, and j the part with the largest
//   top_k(x[n])     =  the best of the best of every part
//   cum_sum(x[n])   =  cum_sum over c of x[p, c]  +  the sum of all parts before p
#include "compiler/passes/split.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// Of a PE's memory for a part of one operand; the rest is for the next sample's, the result and code.
constexpr double kPartShare = 0.25;

int64_t product(const ops::Shape& shape, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t d = first; d < last; ++d) n *= shape[d];
  return n;
}

// A tensor as [outer, extent, inner]: the dimensions before those that are cut, these, and the ones behind.
struct View {
  int64_t outer = 1, extent = 1, inner = 1;
};
View view_of(const ops::Shape& shape, size_t first, size_t behind) {
  return {product(shape, 0, first), product(shape, first, behind), product(shape, behind, shape.size())};
}

// What fills the last part up: copies of the last element, or a value.
Attrs copies() { return {{"mode", std::string("edge")}}; }
Attrs value(double v) { return {{"value", v}}; }

// [outer, parts, size, inner] of a value.
ValueId in_parts(Rewriter& r, ValueId x, const View& v, const DimensionCut& cut, Attrs filling) {
  ValueId made = r.reshape(x, {v.outer, v.extent, v.inner});
  if (const int64_t missing = cut.parts * cut.size - v.extent; missing > 0) {
    filling.emplace_back("pads", Ints{0, 0, 0, 0, missing, 0});
    made = r.op("pad", {made}, std::move(filling));
  }
  return r.reshape(made, {v.outer, cut.parts, cut.size, v.inner});
}

std::optional<size_t> axis_of(const Graph& g, NodeId id) {
  const int64_t rank = g.value(g.node(id).inputs[0]).type.rank();
  int64_t axis = ops::attr_int(g.op(id), g.node(id).attrs, "axis");
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? std::optional(size_t(axis)) : std::nullopt;
}

std::vector<bool> reduced_dims(const Graph& g, NodeId id) {
  const auto rank = int64_t(g.value(g.node(id).inputs[0]).type.rank());
  Ints axes = ops::attr_ints(g.op(id), g.node(id).attrs, "axes");
  const bool none = axes.empty() && ops::attr_int(g.op(id), g.node(id).attrs, "noop_with_empty_axes") != 0;
  std::vector<bool> reduced(size_t(rank), axes.empty() && !none);
  for (int64_t a : axes) reduced[size_t(a < 0 ? a + rank : a)] = true;
  return reduced;
}

}  // namespace

DimensionCut cut_dimension(int64_t extent, int64_t most, int64_t least) {
  const auto root = int64_t(std::ceil(std::sqrt(double(extent))));
  const int64_t want = std::max<int64_t>(1, std::min(std::max(root, least), most));
  for (int64_t size = want; 2 * size >= want && size >= least; --size)
    if (extent % size == 0) return {extent / size, size};
  for (int64_t size = want + 1; size <= std::min(most, 2 * want); ++size)
    if (extent % size == 0) return {extent / size, size};
  return {(extent + want - 1) / want, want};
}

bool split_reduction(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const std::vector<bool> reduced = reduced_dims(g, id);
  const ops::TensorType x = g.value(g.node(id).inputs[0]).type, y = g.value(g.node(id).outputs[0]).type;
  // The innermost of the reduced dimensions, and those before it that are reduced too.
  size_t behind = x.shape.size();
  while (behind > 0 && (!reduced[behind - 1] || x.shape[behind - 1] == 1)) --behind;
  size_t first = behind;
  while (first > 0 && (reduced[first - 1] || x.shape[first - 1] == 1)) --first;
  const View v = view_of(x.shape, first, behind);
  const DimensionCut cut = cut_dimension(v.extent, words);
  if (v.extent < 4 || cut.parts < 2) return false;
  Rewriter r(g, id, diag);
  const std::string op = r.node().op;
  const bool mean = op == "reduce_mean", extreme = op == "reduce_max" || op == "reduce_min";
  ValueId made =
      in_parts(r, r.node().inputs[0], v, cut, extreme ? copies() : value(op == "reduce_prod" ? 1 : 0));
  for (int64_t axis : {2, 1})
    made = r.op(op.c_str(), {made}, {{"axes", Ints{axis}}, {"keepdims", int64_t(0)}});
  if (mean && cut.parts * cut.size > v.extent)
    made = r.op("mul", {made, r.number(x.dtype, double(cut.parts * cut.size) / double(v.extent))});
  ops::Shape rest = x.shape;
  Ints others;
  for (size_t d = 0; d < rest.size(); ++d) {
    if (d >= first && d < behind) rest[d] = 1;
    if (d < first && reduced[d] && rest[d] > 1) others.push_back(int64_t(d));
  }
  made = r.reshape(made, rest);
  if (!others.empty()) made = r.op(op.c_str(), {made}, {{"axes", others}, {"keepdims", int64_t(1)}});
  return r.replace({r.reshape(made, y.shape)});
}

namespace {

bool split_arg(Graph& g, NodeId id, size_t axis, int64_t words, Diag& diag) {
  const ops::TensorType x = g.value(g.node(id).inputs[0]).type, y = g.value(g.node(id).outputs[0]).type;
  const View v = view_of(x.shape, axis, axis + 1);
  const DimensionCut cut = cut_dimension(v.extent, words);
  if (v.extent < 4 || cut.parts < 2) return false;
  Rewriter r(g, id, diag);
  const std::string op = r.node().op;
  const int64_t last = ops::attr_int(*ops::find_op(op), r.node().attrs, "select_last_index");
  const auto where = [&](ValueId of, int64_t along) {
    return r.op(op.c_str(), {of}, {{"axis", along}, {"keepdims", int64_t(1)}, {"select_last_index", last}});
  };
  const ValueId parts = in_parts(r, r.node().inputs[0], v, cut, copies());
  const ValueId inside = r.reshape(where(parts, 2), {v.outer, cut.parts, v.inner});
  const ValueId best = r.op(op == "arg_max" ? "reduce_max" : "reduce_min", {parts},
                            {{"axes", Ints{2}}, {"keepdims", int64_t(0)}});
  const ValueId part = where(best, 1);
  const ValueId within = r.op("gather_elements", {inside, part}, {{"axis", int64_t(1)}});
  const DataType index = y.dtype;
  ValueId made = r.op("add", {r.op("mul", {part, r.number(index, double(cut.size))}), within});
  // Copies of the last element count as that one.
  if (cut.parts * cut.size > v.extent) made = r.op("min", {made, r.number(index, double(v.extent - 1))});
  return r.replace({r.reshape(made, y.shape)});
}

// What no element loses against. 64-bit integers are computed in 32 bits.
double worst_of(DataType type, bool largest) {
  if (data_type_is_float(type)) return (largest ? -1 : 1) * std::numeric_limits<double>::infinity();
  return largest ? double(std::numeric_limits<int32_t>::min()) : double(std::numeric_limits<int32_t>::max());
}

bool split_top_k(Graph& g, NodeId id, size_t axis, int64_t words, Diag& diag) {
  const ops::TensorType x = g.value(g.node(id).inputs[0]).type, y = g.value(g.node(id).outputs[0]).type;
  const int64_t k = ops::attr_int(g.op(id), g.node(id).attrs, "k");
  const View v = view_of(x.shape, axis, axis + 1);
  const auto even = int64_t(std::ceil(std::sqrt(double(v.extent) * double(std::max<int64_t>(1, k)))));
  const DimensionCut cut = cut_dimension(v.extent, words, std::max(2 * k, even));
  if (cut.parts < 2 || k < 1 || cut.parts * k >= v.extent || cut.size < 2 * k) return false;
  Rewriter r(g, id, diag);
  const int64_t largest = ops::attr_int(*ops::find_op("top_k"), r.node().attrs, "largest");
  const auto best = [&](ValueId of, int64_t along) {
    return r.results("top_k", {of}, {{"axis", along}, {"k", k}, {"largest", largest}}, 2);
  };
  const ValueId parts = in_parts(r, r.node().inputs[0], v, cut, value(worst_of(x.dtype, largest != 0)));
  const std::vector<ValueId> some = best(parts, 2);
  ops::Tensor begins(ops::TensorType{DataType::i64, {1, cut.parts, 1, 1}});
  for (int64_t p = 0; p < cut.parts; ++p) begins.set_int(p, p * cut.size);
  const ValueId places = r.op("add", {some[1], r.constant("begins", std::move(begins))});
  const ops::Shape flat{v.outer, cut.parts * k, v.inner};
  const std::vector<ValueId> all = best(r.reshape(some[0], flat), 1);
  std::vector<ValueId> made{r.reshape(all[0], y.shape)};
  if (r.node().outputs.size() > 1)
    made.push_back(r.reshape(
        r.op("gather_elements", {r.reshape(places, flat), all[1]}, {{"axis", int64_t(1)}}), y.shape));
  const bool good = r.replace(made);
  g.remove_dead();
  return good;
}

}  // namespace

bool split_search(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const std::optional<size_t> axis = axis_of(g, id);
  if (!axis) return false;
  return g.node(id).op == "top_k" ? split_top_k(g, id, *axis, words, diag)
                                  : split_arg(g, id, *axis, words, diag);
}

bool split_scan(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const std::optional<size_t> axis = axis_of(g, id);
  if (!axis) return false;
  const ops::TensorType x = g.value(g.node(id).inputs[0]).type;
  const View v = view_of(x.shape, *axis, *axis + 1);
  const DimensionCut cut = cut_dimension(v.extent, words);
  if (v.extent < 4 || cut.parts < 2) return false;
  Rewriter r(g, id, diag);
  const int64_t reverse = ops::attr_int(*ops::find_op("cum_sum"), r.node().attrs, "reverse");
  const int64_t exclusive = ops::attr_int(*ops::find_op("cum_sum"), r.node().attrs, "exclusive");
  const ValueId parts = in_parts(r, r.node().inputs[0], v, cut, value(0));
  const ValueId within =
      r.op("cum_sum", {parts}, {{"axis", int64_t(2)}, {"exclusive", exclusive}, {"reverse", reverse}});
  const ValueId sums = r.op("reduce_sum", {parts}, {{"axes", Ints{2}}, {"keepdims", int64_t(1)}});
  const ValueId before =
      r.op("cum_sum", {sums}, {{"axis", int64_t(1)}, {"exclusive", int64_t(1)}, {"reverse", reverse}});
  ValueId made = r.reshape(r.op("add", {within, before}), {v.outer, cut.parts * cut.size, v.inner});
  if (cut.parts * cut.size > v.extent)
    made = r.op("slice", {made}, {{"starts", Ints{0}}, {"ends", Ints{v.extent}}, {"axes", Ints{1}}});
  return r.replace({r.reshape(made, x.shape)});
}

namespace {

bool split(Graph& g, NodeId id, int64_t words, Diag& diag) {
  const std::string& op = g.node(id).op;
  if (g.op(id).kind == ops::OpKind::reduction) return split_reduction(g, id, words, diag);
  if (op == "arg_max" || op == "arg_min" || op == "top_k") return split_search(g, id, words, diag);
  if (op == "cum_sum") return split_scan(g, id, words, diag);
  if (op == "conv") return split_convolution(g, id, words, diag);
  return op == "matmul" && split_product(g, id, words, diag);
}

}  // namespace

bool split_operators(Graph& g, PassContext& context) {
  if (context.policy == Policy::disabled || context.fallbacks.empty()) return true;
  const auto words = int64_t(double(context.machine.core.memory_bytes) * kPartShare / 4);
  std::vector<NodeId> nodes = g.topological();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const graph::Node& n = g.node(nodes[i]);
    if (!n.alive || context.fallbacks.refused(n.name, Origin::autogen).empty()) continue;
    // A part that did not fit either is taken apart in turn.
    const size_t before = g.node_slots();
    split(g, nodes[i], words, context.diag);
    if (!context.diag.ok()) return false;
    for (size_t made = before; made < g.node_slots(); ++made) nodes.push_back(NodeId{int32_t(made)});
  }
  return true;
}

}  // namespace cs::passes

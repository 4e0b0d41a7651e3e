// One part and its result's type: that of the whole.
#include "compiler/passes/shard_sums.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using ops::TensorType;

TensorType first_part(TensorType type, int dim, int64_t shards) {
  int64_t& extent = type.shape[size_t(dim)];
  extent = extent_of(extent, shards, 0);
  return type;
}

bool gives_the_type_of_the_whole(const Graph& g, NodeId id, const std::vector<const TensorType*>& operands) {
  const Node& n = g.node(id);
  std::vector<TensorType> results;
  std::string why;
  return ops::infer_types(g.op(id), n.attrs, operands, results, why) &&
         results[0] == g.value(n.outputs[0]).type;
}

}  // namespace

std::optional<Cut> reduction_of_parts(const Graph& g, NodeId id, int dim, int64_t shards) {
  constexpr std::pair<std::string_view, std::string_view> kJoins[] = {
      {"reduce_sum", "add"}, {"reduce_mean", "add"}, {"reduce_max", "max"}, {"reduce_min", "min"}};
  const Node& n = g.node(id);
  const auto joins = std::ranges::find(kJoins, n.op, [](const auto& join) { return join.first; });
  if (joins == std::end(kJoins)) return std::nullopt;
  // The mean of a part is weighed by its share of the elements, which whole numbers cannot say.
  if (n.op == "reduce_mean" && !data_type_is_float(g.value(n.inputs[0]).type.dtype)) return std::nullopt;
  const TensorType part = first_part(g.value(n.inputs[0]).type, dim, shards);
  std::vector<const TensorType*> types(n.inputs.size(), nullptr);
  types[0] = &part;
  if (!gives_the_type_of_the_whole(g, id, types)) return std::nullopt;
  Cut cut{std::vector<int>(n.inputs.size(), -1), {-1}, joins->second};
  cut.operands[0] = dim;
  return cut;
}

std::optional<Cut> product_of_parts(const Graph& g, NodeId id, int dim, int64_t shards) {
  const Node& n = g.node(id);
  if (g.op(id).kind != ops::OpKind::contraction || n.inputs.size() < 2 || !g.value(n.inputs[1]).is_constant())
    return std::nullopt;
  const TensorType &whole = g.value(n.inputs[0]).type, &matrix = g.value(n.inputs[1]).type;
  const TensorType part = first_part(whole, dim, shards);
  for (size_t d = 0; d < matrix.shape.size(); ++d) {
    if (matrix.shape[d] != whole.shape[size_t(dim)]) continue;
    const TensorType rows = first_part(matrix, int(d), shards);
    if (!gives_the_type_of_the_whole(g, id, {&part, &rows})) continue;
    Cut cut{std::vector<int>(n.inputs.size(), -1), {-1}, "add"};
    cut.operands[0] = dim, cut.operands[1] = int(d);
    return cut;
  }
  return std::nullopt;
}

}  // namespace cs::passes

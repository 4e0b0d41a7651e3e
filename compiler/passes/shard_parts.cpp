// See shard_parts.h.
#include "compiler/passes/shard_parts.h"

#include <algorithm>

#include "compiler/graph/sample.h"
#include "compiler/passes/shard_design.h"
#include "compiler/passes/shard_sums.h"
#include "compiler/passes/shard_windows.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Share;
using graph::ValueId;

constexpr size_t kMostWays = 64;  // to take the other operands of one
constexpr int kFarthest = 8;      // operators behind each other that are asked what they can take

int64_t inner(const ops::Shape& shape, int dim) {
  int64_t n = 1;
  for (size_t d = size_t(dim) + 1; d < shape.size(); ++d) n *= shape[d];
  return n;
}

// Do shards of the one extent hold the elements of the shards of the other?
bool go_together(int64_t from, int64_t to, int64_t shards) {
  return from == to || (from % shards == 0 && to % shards == 0);
}

}  // namespace

bool can_cut(int64_t extent, int64_t shards) {
  return extent > 1 && (extent % shards == 0 || extent >= 2 * shards);
}

int behind_view(const ops::Shape& from, int dim, const ops::Shape& to, int64_t shards) {
  const int64_t behind = inner(from, dim) * from[size_t(dim)];
  for (size_t d = 0; d < to.size(); ++d)
    if (inner(to, int(d)) * to[d] == behind && go_together(from[size_t(dim)], to[d], shards)) return int(d);
  return -1;
}

std::optional<std::vector<int>> results_of_parts(const Graph& g, NodeId id, const std::vector<int>& dims,
                                                 int64_t shards) {
  const Node& n = g.node(id);
  std::vector<Share> operands;
  int64_t cut = 0, of = 0;  // elements of a share, of its dimension
  for (size_t i = 0; i < dims.size(); ++i) {
    operands.push_back({n.inputs[i].valid() ? g.value(n.inputs[i]).type : ops::TensorType{}, dims[i]});
    if (dims[i] < 0) continue;
    int64_t& extent = operands[i].type.shape[size_t(dims[i])];
    if (of > 0 && !go_together(of, extent, shards)) return std::nullopt;
    of = extent;
    extent = cut = extent_of(extent, shards, 0);
  }
  const auto shares = graph::results_of_shares(g, id, operands);
  if (!shares || shares->size() != n.outputs.size()) return std::nullopt;
  std::vector<int> results;
  for (size_t k = 0; k < shares->size(); ++k) {
    const ops::TensorType& result = g.value(n.outputs[k]).type;
    ops::TensorType whole = (*shares)[k].type;
    int64_t& extent = whole.shape[size_t((*shares)[k].dim)];
    if (extent % cut != 0 || !go_together(of, extent / cut * of, shards)) return std::nullopt;
    extent = extent / cut * of;
    if (!(whole == result)) return std::nullopt;
    results.push_back((*shares)[k].dim);
  }
  return results;
}

namespace {

class Ahead {
 public:
  Ahead(const Graph& g, int64_t shards) : g_(g), shards_(shards) {}

  double words_of(ValueId v, int dim, int farthest) const {
    double sum = 0;
    for (const NodeId user : g_.value(v).users) {
      const std::optional<double> behind = behind_user(user, v, dim, farthest);
      if (!behind) return double(g_.value(v).type.elements());
      sum += *behind;
    }
    return sum;
  }

 private:
  // Nothing if the user cannot take parts.
  std::optional<double> behind_user(NodeId user, ValueId v, int dim, int farthest) const {
    const Node& n = g_.node(user);
    const auto at = size_t(std::find(n.inputs.begin(), n.inputs.end(), v) - n.inputs.begin());
    if (g_.op(user).kind == ops::OpKind::view) {
      const int behind =
          at > 0 ? -1 : behind_view(g_.value(v).type.shape, dim, g_.value(n.outputs[0]).type.shape, shards_);
      return behind < 0 ? std::nullopt : std::optional(further(n, {behind}, farthest));
    }
    if (const auto results = results_with(user, at, dim)) {
      return g_.op(user).kind == ops::OpKind::elementwise ? further(n, *results, farthest) : 0;
    }
    const bool joined =
        at == 0 && (reduction_of_parts(g_, user, dim, shards_) || window_shares(g_, user, dim, shards_));
    return joined ? std::optional(0.0) : std::nullopt;
  }

  double further(const Node& n, const std::vector<int>& dims, int farthest) const {
    double sum = 0;
    for (size_t k = 0; farthest > 0 && k < dims.size(); ++k)
      if (dims[k] >= 0) sum += words_of(n.outputs[k], dims[k], farthest - 1);
    return sum;
  }

  // With the other operands whole or cut in some way.
  std::optional<std::vector<int>> results_with(NodeId user, size_t operand, int dim) const {
    const Node& n = g_.node(user);
    std::vector<std::vector<int>> all = {{}};
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      std::vector<int> options = i == operand ? std::vector{dim} : std::vector{-1};
      if (i != operand && n.inputs[i].valid())
        for (size_t d = 0; d < g_.value(n.inputs[i]).type.shape.size(); ++d)
          if (can_cut(g_.value(n.inputs[i]).type.shape[d], shards_)) options.push_back(int(d));
      std::vector<std::vector<int>> longer;
      for (const std::vector<int>& dims : all)
        for (const int option : options) {
          longer.push_back(dims);
          longer.back().push_back(option);
        }
      all = std::move(longer);
      if (all.size() > kMostWays) return std::nullopt;
    }
    for (const std::vector<int>& dims : all)
      if (auto results = results_of_parts(g_, user, dims, shards_)) return results;
    return std::nullopt;
  }

  const Graph& g_;
  const int64_t shards_;
};

}  // namespace

double words_put_together(const Graph& g, ValueId v, int dim, int64_t shards) {
  return Ahead(g, shards).words_of(v, dim, kFarthest);
}

}  // namespace cs::passes

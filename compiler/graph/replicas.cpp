// Slices of the inputs, names for the weights, and the nodes between them once more for every replica.
#include "compiler/graph/replicas.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/add_nodes.h"

namespace cs::graph {

namespace {

class Replicator {
 public:
  Replicator(Graph& g, int64_t replicas, std::span<const ValueId> roots, Diag& diag)
      : g_(g), replicas_(replicas), roots_(roots.begin(), roots.end()), diag_(diag), of_(size_t(replicas)) {}

  bool run(ValueId result, Replicas& made) {
    const std::vector<NodeId> order = g_.topological();
    for (const ValueId v : std::vector<ValueId>(g_.inputs))
      if (!g_.value(v).type.shape.empty() && !part_input(v)) return false;
    for (const ValueId v : roots_)
      if (!name_root(v)) return false;
    for (const NodeId id : order) {
      const std::vector<ValueId> inputs = g_.node(id).inputs;
      if (std::none_of(inputs.begin(), inputs.end(), [&](ValueId v) { return depends_.contains(v); }))
        continue;
      for (int64_t k = replicas_ - 1; k >= 0; --k)  // the first one is the node itself
        if (!(k > 0 ? copy_node(id, size_t(k)) : keep_node(id))) return false;
      for (const ValueId v : g_.node(id).outputs) depends_.insert(v);
    }
    if (!depends_.contains(result)) {
      diag_.error_at(g_.value(result).name,
                     "the loss depends on no samples, so replicas have no shares of it");
      return false;
    }
    for (auto& of : of_) made.results.push_back(of.at(result));
    for (const ValueId v : roots_) {
      std::vector<ValueId>& list = made.roots.emplace_back();
      for (auto& of : of_) list.push_back(of.at(v));
    }
    return true;
  }

 private:
  bool part_input(ValueId v) {
    ops::TensorType whole = g_.value(v).type;
    const int64_t share = whole.shape[0];
    whole.shape[0] *= replicas_;
    g_.value(v).type = whole;
    depends_.insert(v);
    for (int64_t k = 0; k < replicas_; ++k) {
      const ValueId part = add_share(g_, v, 0, k * share, (k + 1) * share,
                                     fmt::format("{}_replica{}", g_.value(v).name, k), "a replica's share of the batch",
                                     diag_);
      if (!part.valid()) return false;
      of_[size_t(k)][v] = part;
    }
    return true;
  }

  bool name_root(ValueId v) {
    depends_.insert(v);
    for (size_t k = 0; k < of_.size(); ++k) {
      Node n;
      n.name = g_.fresh_name(fmt::format("{}_replica{}", g_.value(v).name, k));
      n.op = "identity";
      n.where = "a replica's name for a weight";
      n.inputs = {v};
      const ValueId own = add_typed(g_, std::move(n), diag_);
      if (!own.valid()) return false;
      of_[k][v] = own;
    }
    return true;
  }

  bool keep_node(NodeId id) {
    const std::vector<ValueId> inputs = g_.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const auto own = of_[0].find(inputs[i]); own != of_[0].end() && own->second != inputs[i])
        g_.set_input_of(id, i, own->second);
    for (const ValueId v : g_.node(id).outputs) of_[0][v] = v;
    return infer_node(g_, id, diag_);
  }

  bool copy_node(NodeId id, size_t k) {
    const Node& from = g_.node(id);
    Node n;
    n.name = g_.fresh_name(fmt::format("{}_replica{}", from.name, k));
    n.op = from.op;
    n.attrs = from.attrs;
    n.loc = from.loc;
    n.where = from.where;
    n.from = from.from;
    n.from_op = from.from_op;
    n.assignment = from.assignment;
    for (const ValueId v : from.inputs) n.inputs.push_back(of_[k].contains(v) ? of_[k].at(v) : v);
    const std::vector<ValueId> results = from.outputs;
    const NodeId copy = g_.add_node(std::move(n));
    for (const ValueId v : results)
      of_[k][v] = g_.add_result(copy, g_.fresh_name(fmt::format("{}_replica{}", g_.value(v).name, k)));
    return infer_node(g_, copy, diag_);
  }

  Graph& g_;
  const int64_t replicas_;
  const std::vector<ValueId> roots_;
  Diag& diag_;
  std::vector<std::map<ValueId, ValueId>> of_;  // of a value of the graph as it was, in each replica
  std::set<ValueId> depends_;                   // on samples or on a root
};

}  // namespace

bool replicate(Graph& g, int64_t replicas, ValueId result, std::span<const ValueId> roots, Replicas& made,
               Diag& diag) {
  CS_CHECK(replicas > 1, "one replica is the graph itself");
  return Replicator(g, replicas, roots, diag).run(result, made);
}

}  // namespace cs::graph

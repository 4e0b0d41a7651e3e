// The graph becomes that of a share; what depends on samples is then there several times.
#include "compiler/graph/batch_copies.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/graph/add_nodes.h"
#include "compiler/graph/batch.h"

namespace cs::graph {

namespace {

class Copier {
 public:
  Copier(Graph& g, int64_t share, int64_t copies, Diag& diag)
      : g_(g), share_(share), copies_(copies), diag_(diag) {
    for (size_t i = 0; i < g.value_slots(); ++i) dims_.push_back(g.value({int32_t(i)}).sample_dim);
  }

  bool run() {
    const std::vector<NodeId> order = g_.topological();
    copy_of_.resize(size_t(copies_));
    for (const ValueId v : std::vector<ValueId>(g_.inputs))
      if (dim(v) >= 0 && !part_input(v)) return false;
    for (const NodeId id : order) {
      const std::vector<ValueId>& results = g_.node(id).outputs;
      if (std::none_of(results.begin(), results.end(), [&](ValueId v) { return dim(v) >= 0; })) continue;
      for (int64_t k = 1; k < copies_; ++k)
        if (!copy_node(id, k)) return false;
    }
    return join_outputs();
  }

 private:
  int dim(ValueId v) const { return size_t(v.index) < dims_.size() ? dims_[size_t(v.index)] : -1; }

  // The input has all samples again, and every copy a slice of it.
  bool part_input(ValueId v) {
    const int d = dim(v);
    const std::vector<NodeId> users = g_.value(v).users;
    ops::TensorType whole = g_.value(v).type;
    whole.shape[size_t(d)] *= copies_;
    g_.value(v).type = whole;
    for (int64_t k = 0; k < copies_; ++k) {
      const ValueId part = add_share(g_, v, d, k * share_, (k + 1) * share_,
                                     fmt::format("{}_share{}", g_.value(v).name, k), "a copy's share of the batch",
                                     diag_);
      if (!part.valid()) return false;
      copy_of_[size_t(k)][v] = part;
    }
    for (const NodeId user : users)
      for (size_t i = 0; i < g_.node(user).inputs.size(); ++i)
        if (g_.node(user).inputs[i] == v) g_.set_input_of(user, i, copy_of_[0].at(v));
    for (int64_t k = 1; k < copies_; ++k) copy_of_[size_t(k)][copy_of_[0].at(v)] = copy_of_[size_t(k)].at(v);
    return true;
  }

  bool copy_node(NodeId id, int64_t k) {
    std::map<ValueId, ValueId>& made = copy_of_[size_t(k)];
    const Node& from = g_.node(id);
    Node n;
    n.name = g_.fresh_name(fmt::format("{}_copy{}", from.name, k));
    n.op = from.op;
    n.attrs = from.attrs;
    n.loc = from.loc;
    n.where = from.where;
    for (const ValueId v : from.inputs) n.inputs.push_back(v.valid() && made.contains(v) ? made.at(v) : v);
    const std::vector<ValueId> results = from.outputs;
    const NodeId copy = g_.add_node(std::move(n));
    for (const ValueId v : results)
      made[v] = g_.add_result(copy, g_.fresh_name(fmt::format("{}_copy{}", g_.value(v).name, k)));
    return infer_node(g_, copy, diag_);
  }

  bool join_outputs() {
    const std::vector<ValueId> outputs = g_.outputs;
    g_.clear_outputs();
    for (const ValueId v : outputs) {
      if (dim(v) < 0) {
        g_.set_output(v);
        continue;
      }
      std::vector<ValueId> copies = {v};
      for (int64_t k = 1; k < copies_; ++k) copies.push_back(copy_of_[size_t(k)].at(v));
      const ValueId all = add_concat(g_, std::move(copies), dim(v), g_.value(v).name + "_all",
                                     "what the copies of the batch give", diag_);
      if (!all.valid()) return false;
      pass_name_on(g_, v, all, "_copy0");
      g_.set_output(all);
    }
    return true;
  }

  Graph& g_;
  int64_t share_, copies_;
  Diag& diag_;
  std::vector<int> dims_;                            // of samples, before there was a batch
  std::vector<std::map<ValueId, ValueId>> copy_of_;  // of a value of the first copy, in each
};

}  // namespace

bool make_batch_in_copies(Graph& g, int64_t samples, int64_t copies, Diag& diag) {
  CS_CHECK(copies >= 1 && samples % copies == 0, "a batch is cut into equal shares");
  if (copies == 1) return make_batch(g, samples, diag);
  Copier copier(g, samples / copies, copies, diag);
  return make_batch(g, samples / copies, diag) && copier.run();
}

int64_t batch_copies_for(const Graph& g, int64_t samples) {
  int64_t weights = 1, sample = 1;
  for (size_t i = 0; i < g.value_slots(); ++i) {
    const ValueId id{int32_t(i)};
    const Value& v = g.value(id);
    if (v.users.empty() && !v.is_output) continue;
    if (v.is_constant())
      weights = std::max(weights, v.type.elements());
    else if (v.sample_dim >= 0)
      sample = std::max(sample, v.type.elements());
  }
  int64_t copies = 1;
  while (copies < kMostBatchCopies && samples % (2 * copies) == 0 && sample * samples > copies * weights)
    copies *= 2;
  return copies;
}

}  // namespace cs::graph

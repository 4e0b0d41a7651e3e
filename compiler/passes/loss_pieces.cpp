// See loss_pieces.h. The loss becomes its steps, every sum over everything a sum of sums (split.h); then each
// piece gets copies of the steps that it needs, and the steps themselves go.
#include "compiler/passes/loss_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/graph/expand.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/split.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

class Cutter {
 public:
  Cutter(Graph& g, NodeId id, int64_t words, const std::string& reason, Diag& diag)
      : g_(g), id_(id), words_(words), reason_(reason), diag_(diag) {}

  std::optional<std::vector<LossPiece>> run() {
    const size_t before = g_.node_slots();
    if (!graph::expand(g_, id_, diag_)) return std::nullopt;
    split_sums(before);
    if (!diag_.ok() || partial_.empty()) return std::nullopt;
    for (NodeId id : g_.topological()) {
      if (size_t(id.index) >= before) steps_.push_back(id);
    }
    for (NodeId id : steps_) is_step_.insert(id);
    for (NodeId id : steps_) set_stage(id);
    list_ports();
    for (const auto& [key, values] : ports_) {
      if (!add_piece(key.first, key.second, values)) return std::nullopt;
    }
    for (const auto& [value, made] : made_) {
      if (is_result(value)) results_.emplace_back(value, made);
    }
    for (const auto& [value, made] : results_) g_.replace_uses(value, made);
    g_.remove_dead();
    return std::move(pieces_);
  }

 private:
  // Sums, means and extremes over everything become those of parts and of what these give.
  void split_sums(size_t before) {
    for (size_t i = before, last = g_.node_slots(); i < last; ++i) {
      const NodeId id{int32_t(i)};
      if (!g_.node(id).alive || g_.op(id).kind != ops::OpKind::reduction) continue;
      if (g_.value(g_.node(id).outputs[0]).type.elements() != 1) continue;
      const size_t made = g_.node_slots();
      if (!split_reduction(g_, id, words_, diag_)) continue;
      for (size_t k = made; k < g_.node_slots(); ++k) {
        const NodeId part{int32_t(k)};
        if (!g_.node(part).alive || g_.op(part).kind != ops::OpKind::reduction) continue;
        const ValueId sums = g_.node(part).outputs[0];
        if (g_.value(sums).type.elements() > 1) partial_.insert(sums);
      }
    }
  }

  bool is_partial(ValueId v) const { return partial_.contains(graph::source_of(g_, v)); }
  int stage(ValueId v) const {
    const auto it = stage_.find(v);
    return it == stage_.end() ? 0 : it->second;
  }
  static bool is_tail(int stage) { return stage % 2 != 0; }

  // Heads are even and tails odd. What follows from tails and numbers alone is the tail's.
  void set_stage(NodeId id) {
    int most = 0;
    bool sums = false, whole = false;
    for (ValueId v : g_.node(id).inputs) {
      if (!v.valid()) continue;
      most = std::max(most, stage(v));
      const bool view = g_.op(id).kind == ops::OpKind::view;
      sums = sums || (is_partial(v) && !view);
      whole = whole || g_.value(v).type.elements() > 1;
    }
    for (ValueId v : g_.node(id).outputs) whole = whole || g_.value(v).type.elements() > 1;
    if (sums ? !is_tail(most) : is_tail(most) && whole) ++most;
    for (ValueId v : g_.node(id).outputs) stage_[v] = most;
  }

  bool is_result(ValueId v) const {
    const graph::Value& value = g_.value(v);
    return value.is_output || std::any_of(value.users.begin(), value.users.end(),
                                          [&](NodeId user) { return !is_step_.contains(user); });
  }

  // What leaves the pieces: by stage and, of partial sums, by their number, since the results of a kernel are
  // cut alike.
  void list_ports() {
    for (NodeId id : steps_) {
      for (ValueId v : g_.node(id).outputs) {
        const int at = stage(v);
        const auto later = [&](NodeId user) {
          const std::vector<ValueId>& out = g_.node(user).outputs;
          return is_step_.contains(user) &&
                 std::any_of(out.begin(), out.end(), [&](ValueId o) { return stage(o) > at; });
        };
        const std::vector<NodeId>& users = g_.value(v).users;
        const bool read_later = std::any_of(users.begin(), users.end(), later);
        if (partial_.contains(v))
          ports_[{at, g_.value(v).type.elements()}].push_back(v);
        else if (is_result(v) || (is_tail(at) && read_later))
          ports_[{at, 0}].push_back(v);
      }
    }
  }

  bool add_piece(int at, int64_t parts, const std::vector<ValueId>& values) {
    const size_t before = g_.node_slots();
    std::map<ValueId, ValueId> copies;
    for (ValueId v : values) {
      if (!copy(v, at, copies)) return false;
    }
    LossPiece piece{{}, at, parts};
    for (size_t i = before; i < g_.node_slots(); ++i) {
      const NodeId id{int32_t(i)};
      if (g_.op(id).kind != ops::OpKind::view) piece.nodes.push_back(id);
    }
    for (NodeId id : piece.nodes) {
      const std::string group = piece.nodes.size() > 1 ? g_.node(piece.nodes.front()).name : "";
      g_.node(id).assignment = {
          Origin::autogen, kernels::generated_id(*kernels::region_kind()), reason_, group, {}, true};
    }
    if (!piece.nodes.empty()) pieces_.push_back(std::move(piece));
    // Only now: what this piece itself reads it computes.
    for (ValueId v : values) made_[v] = copies.at(v);
    return true;
  }

  // A copy of the step that gives the value and of all that it needs, down to what earlier pieces send.
  std::optional<ValueId> copy(ValueId v, int at, std::map<ValueId, ValueId>& copies) {
    if (!v.valid()) return v;
    if (const auto it = copies.find(v); it != copies.end()) return it->second;
    const bool sent = (is_tail(stage(v)) || partial_.contains(v)) && stage(v) < at;
    if (const auto it = made_.find(v); sent && it != made_.end()) return it->second;
    const NodeId from = g_.value(v).producer;
    if (!from.valid() || !is_step_.contains(from)) return v;
    graph::Node node = g_.node(from);
    for (ValueId& input : node.inputs) {
      const std::optional<ValueId> made = copy(input, at, copies);
      if (!made) return std::nullopt;
      input = *made;
    }
    const std::vector<ValueId> outputs = std::exchange(node.outputs, {});
    node.name = g_.fresh_name(node.name);
    const std::string name = node.name;
    const NodeId id = g_.add_node(std::move(node));
    for (ValueId o : outputs) copies[o] = g_.add_result(id, g_.fresh_name(name + "_out"));
    if (!graph::infer_node(g_, id, diag_)) return std::nullopt;
    return copies.at(v);
  }

  Graph& g_;
  const NodeId id_;
  const int64_t words_;
  const std::string& reason_;
  Diag& diag_;
  std::set<ValueId> partial_;
  std::vector<NodeId> steps_;  // topological order
  std::set<NodeId> is_step_;
  std::map<ValueId, int> stage_;
  std::map<std::pair<int, int64_t>, std::vector<ValueId>> ports_;
  std::map<ValueId, ValueId> made_;  // by the value that it stands for
  std::vector<std::pair<ValueId, ValueId>> results_;
  std::vector<LossPiece> pieces_;
};

}  // namespace

std::optional<std::vector<LossPiece>> cut_loss(Graph& g, NodeId id, int64_t words, const std::string& reason,
                                               Diag& diag) {
  return Cutter(g, id, words, reason, diag).run();
}

double latency_of(const Graph& g, const std::vector<LossPiece>& pieces, GroupCosts& costs) {
  std::map<int, double> slowest;  // of a stage
  for (const LossPiece& p : pieces) {
    double& cycles = slowest[p.stage];
    cycles = std::max(cycles, costs.of(g, p.nodes).latency_cycles);
  }
  double sum = 0;
  for (const auto& [stage, cycles] : slowest) sum += cycles;
  return sum;
}

}  // namespace cs::passes

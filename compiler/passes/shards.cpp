// The graph with the parts of its operators, as they were designed.
#include "compiler/passes/shards.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "compiler/graph/add_nodes.h"
#include "compiler/graph/fold.h"
#include "compiler/graph/sample.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/shard_design.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMostJoined = 8;  // streams that one kernel joins

class Maker {
 public:
  Maker(Graph& g, int64_t shards, const Design& design, Sharded& made, Diag& diag)
      : g_(g), shards_(shards), design_(design), made_(made), diag_(diag) {}

  bool run() {
    for (const NodeId id : g_.topological()) {
      const auto cut = design_.cuts.find(id);
      if (cut != design_.cuts.end() ? !make_parts(id, cut->second) : !take_whole(id)) return false;
    }
    if (!give_outputs()) return false;
    g_.remove_dead();
    return graph::propagate_samples(g_, diag_);
  }

 private:
  std::string name(const std::string& of, int64_t k) const {
    return g_.fresh_name(fmt::format("{}_shard{}", of, k));
  }

  bool make_parts(NodeId id, const Cut& cut) {
    ++made_.operators;
    std::vector<std::vector<ValueId>> operands;
    const std::vector<ValueId> inputs = g_.node(id).inputs, results = g_.node(id).outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(cut.operands[i] < 0 ? std::vector<ValueId>(size_t(shards_), whole(inputs[i]))
                                             : parts(inputs[i], cut.operands[i]));
      if (inputs[i].valid() && !operands.back()[0].valid()) return false;
    }
    for (int64_t k = 0; k < shards_; ++k) {
      Node n = g_.node(id);
      n.name = name(n.name, k);
      n.inputs.clear(), n.outputs.clear();
      for (const auto& operand : operands) n.inputs.push_back(operand[size_t(k)]);
      if (g_.op(id).kind == ops::OpKind::view)
        make_reshape(n, g_.value(results[0]).type.shape, cut.results[0], k);
      const NodeId part = g_.add_node(std::move(n));
      for (const ValueId v : results) parts_[v].push_back(g_.add_result(part, name(g_.value(v).name, k)));
      if (!graph::infer_node(g_, part, diag_)) return false;
    }
    return true;
  }

  void make_reshape(Node& n, ops::Shape shape, int dim, int64_t k) const {
    shape[size_t(dim)] = extent_of(shape[size_t(dim)], shards_, k);
    n.op = "reshape";
    n.inputs.resize(1);
    n.attrs.clear();
    ops::set_attr(n.attrs, "shape", std::vector<int64_t>(shape.begin(), shape.end()));
  }

  // The node stays, with its operands put together.
  bool take_whole(NodeId id) {
    for (size_t i = 0; i < g_.node(id).inputs.size(); ++i) {
      const ValueId v = g_.node(id).inputs[i];
      if (!v.valid() || !parts_.contains(v)) continue;
      const ValueId all = whole(v);
      if (!all.valid()) return false;
      g_.set_input_of(id, i, all);
    }
    return true;
  }

  ValueId concat(std::vector<ValueId> values, int dim, const std::string& name) {
    Node n;
    n.name = g_.fresh_name(name);
    n.op = "concat";
    n.where = "what the shards give";
    n.inputs = std::move(values);
    ops::set_attr(n.attrs, "axis", int64_t(dim));
    return graph::add_typed(g_, std::move(n), diag_);
  }

  ValueId whole(ValueId v) {
    if (!v.valid() || !parts_.contains(v)) return v;
    const auto [it, is_new] = whole_.try_emplace(v);
    if (!is_new) return it->second;
    ++made_.joined;
    std::vector<ValueId> values = parts_.at(v);
    const int dim = design_.dims.at(v);
    const std::string name = g_.value(v).name + "_whole";
    while (values.size() > kMostJoined) {  // a kernel has no more queues
      std::vector<ValueId> fewer;
      for (size_t k = 0; k < values.size(); k += kMostJoined / 2) {
        const size_t end = std::min(k + kMostJoined / 2, values.size());
        fewer.push_back(concat({values.begin() + ptrdiff_t(k), values.begin() + ptrdiff_t(end)}, dim, name));
        if (!fewer.back().valid()) return {};
      }
      values = std::move(fewer);
    }
    return it->second = concat(values, dim, name);
  }

  const std::vector<ValueId>& parts(ValueId v, int dim) {
    if (parts_.contains(v) && design_.dims.at(v) == dim) return parts_.at(v);
    std::vector<ValueId>& made = slices_[{v, dim}];
    if (!made.empty()) return made;
    const ValueId from = whole(v);
    const int64_t extent = g_.value(v).type.shape[size_t(dim)];
    for (int64_t k = 0; k < shards_; ++k) {
      made.push_back(from.valid() ? graph::add_share(g_, from, dim, begin_of(extent, shards_, k),
                                                     begin_of(extent, shards_, k + 1),
                                                     fmt::format("{}_share{}", g_.value(v).name, k),
                                                     "a shard's part of an operand", diag_)
                                  : ValueId{});
      if (made.back().valid() && g_.value(v).is_constant()) fold(made.back());
    }
    return made;
  }

  // A part of a constant is one.
  void fold(ValueId& v) {
    const std::string name = g_.value(v).name;
    if (!graph::fold_node(g_, g_.value(v).producer, diag_)) return;
    if (const auto constant = g_.find_value(name)) v = *constant;
  }

  // What the host receives in pieces needs no kernel that joins them.
  ValueId given(ValueId v) {
    if (!parts_.contains(v) || whole_.contains(v)) return whole(v);
    ++made_.joined;
    return concat(parts_.at(v), design_.dims.at(v), g_.value(v).name + "_whole");
  }

  bool give_outputs() {
    const std::vector<ValueId> outputs = g_.outputs;
    g_.clear_outputs();
    for (const ValueId v : outputs) {
      const ValueId all = given(v);
      if (!all.valid()) return false;
      if (all != v) {
        const std::string name = g_.value(v).name;
        g_.rename(v, g_.fresh_name(name + "_shard"));
        g_.rename(all, name);
      }
      g_.set_output(all);
    }
    return true;
  }

  Graph& g_;
  const int64_t shards_;
  const Design& design_;
  Sharded& made_;
  Diag& diag_;
  std::map<ValueId, std::vector<ValueId>> parts_;                   // of what is made in parts
  std::map<std::pair<ValueId, int>, std::vector<ValueId>> slices_;  // of what is whole, along a dimension
  std::map<ValueId, ValueId> whole_;                                // put together again
};

}  // namespace

bool make_shards(Graph& g, int64_t shards, Sharded& made, Diag& diag) {
  made = {};
  if (shards < 2 || !g.states.empty()) return true;
  const Design best = design_shards(g, shards);
  return best.cuts.empty() || Maker(g, shards, best, made, diag).run();
}

bool cut_in_shards(Graph& g, PassContext& context) {
  const int64_t shards = context.rewrites.shards;
  Sharded made;
  if (!make_shards(g, shards, made, context.diag)) return false;
  if (shards > 1 && made.operators == 0)
    context.diag.warning(
        {}, g.states.empty()
                ? fmt::format(
                      "{}: nothing is computed in {} shards: no dimension of an input that {} divides is one "
                      "along which the operators behind it compute parts",
                      g.name, shards, shards)
                : fmt::format("{}: a step of training is computed whole, not in shards", g.name));
  return true;
}

}  // namespace cs::passes

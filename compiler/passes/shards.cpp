// Which operators are cut, along which dimensions, and the graph with their parts.
//
// Which dimension is cut at first decides all that follows, so a few rules are tried out on paper: the first
// dimension that can be cut, the second one, the third, of the inputs alone or of what is whole on the wafer too.
// From there operators are decided in the order of the dataflow, each by what the words cost that it needs in
// another way than they come. Parts of the graph that save fewer words than they cost are left whole.
#include "compiler/passes/shards.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/graph/add_nodes.h"
#include "compiler/graph/fold.h"
#include "compiler/graph/sample.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Share;
using graph::ValueId;

struct Rule {
  int dim = 0;            // of those that can be cut
  bool anywhere = false;  // begins with what is made on the wafer, too
};
constexpr Rule kRules[] = {{0}, {1}, {2}, {0, true}, {1, true}, {2, true}};
constexpr size_t kMostWays = 64;  // to cut one operator's operands, the cheapest first
constexpr size_t kMostJoined = 8;  // streams that one kernel joins

// How operands and results of a node are cut; -1: they are whole.
struct Cut {
  std::vector<int> operands, results;
};

// What the operators of a graph do under one rule.
struct Design {
  std::map<NodeId, Cut> cuts;
  std::map<ValueId, int> dims;  // of what is made in parts
  double saved = 0;             // words that no single stream carries any more
};

int64_t inner(const ops::Shape& shape, int dim) {
  int64_t n = 1;
  for (size_t d = size_t(dim) + 1; d < shape.size(); ++d) n *= shape[d];
  return n;
}

// Where shard k of an extent begins. Shards are equal, or some are one longer than others.
int64_t begin_of(int64_t extent, int64_t shards, int64_t k) { return extent * k / shards; }
int64_t extent_of(int64_t extent, int64_t shards, int64_t k) {
  return begin_of(extent, shards, k + 1) - begin_of(extent, shards, k);
}
bool can_cut(int64_t extent, int64_t shards) {
  return extent > 1 && (extent % shards == 0 || extent >= 2 * shards);
}
// Do shards of the one extent hold the elements of the shards of the other?
bool go_together(int64_t from, int64_t to, int64_t shards) {
  return from == to || (from % shards == 0 && to % shards == 0);
}

// The dimension of the same elements behind a view; -1: they are not consecutive there.
int behind_view(const ops::Shape& from, int dim, const ops::Shape& to, int64_t shards) {
  const int64_t behind = inner(from, dim) * from[size_t(dim)];
  for (size_t d = 0; d < to.size(); ++d)
    if (inner(to, int(d)) * to[d] == behind && go_together(from[size_t(dim)], to[d], shards)) return int(d);
  return -1;
}

class Designer {
 public:
  Designer(const Graph& g, int64_t shards, Rule rule) : g_(g), shards_(shards), rule_(rule) {}

  Design run() {
    for (const NodeId id : g_.topological()) {
      if (auto cut = decide(id)) {
        for (size_t k = 0; k < cut->results.size(); ++k) {
          const ValueId v = g_.node(id).outputs[k];
          design_.dims[v] = cut->results[k];
          part_of_[v] = id;
          saved_[id] += words(v) * double(shards_ - 1) / double(shards_);
        }
        pay(id, *cut);
        design_.cuts.emplace(id, std::move(*cut));
      } else {
        pay(id, {std::vector<int>(g_.node(id).inputs.size(), -1), {}});
      }
    }
    keep_what_saves();
    return std::move(design_);
  }

 private:
  // A way to have one operand, and the words that have to be moved for that.
  struct Option {
    int dim = -1;
    double cost = 0;
  };
  struct Way {
    std::vector<int> dims;
    double cost = 0;
  };

  double words(ValueId v) const { return double(g_.value(v).type.elements()); }
  int made_along(ValueId v) const {
    const auto it = design_.dims.find(v);
    return it == design_.dims.end() ? -1 : it->second;
  }
  bool is_given(ValueId v) const {
    const graph::Value& value = g_.value(v);
    return value.is_input && g_.scalar_of(value.name) == nullptr;
  }

  // Dimensions that can be cut.
  std::vector<int> dims_of(ValueId v) const {
    std::vector<int> dims;
    const graph::Value& value = g_.value(v);
    for (size_t d = 0; d < value.type.shape.size(); ++d) {
      const int64_t extent = value.type.shape[d];
      if (int(d) != value.sample_dim && can_cut(extent, shards_)) dims.push_back(int(d));
    }
    return dims;
  }

  std::vector<Option> options(ValueId v) const {
    if (!v.valid()) return {{}};
    std::vector<Option> all;
    const std::vector<int> dims = dims_of(v);
    const int made = made_along(v);
    if (made >= 0) {
      all = {{made, 0}, {-1, moved_.contains({v, -1}) ? 0 : words(v)}};
    } else if (g_.value(v).is_constant()) {
      all.push_back({});
      for (const int d : dims) all.push_back({d, 0});
    } else if (is_given(v)) {
      if (!dims.empty()) all.push_back({by_rule(dims), 0});
      all.push_back({});
    } else {
      all.push_back({});
      for (const int d : dims) all.push_back({d, moved_.contains({v, d}) ? 0 : words(v)});
    }
    return all;
  }

  int by_rule(const std::vector<int>& dims) const { return dims[size_t(std::min(rule_.dim, int(dims.size()) - 1))]; }

  // The cheapest first; of equals as options come.
  std::vector<Way> ways(const Node& n) const {
    std::vector<Way> all = {{}};
    for (const ValueId v : n.inputs) {
      std::vector<Way> longer;
      for (const Way& way : all)
        for (const Option& option : options(v)) {
          longer.push_back({way.dims, way.cost + option.cost});
          longer.back().dims.push_back(option.dim);
        }
      std::stable_sort(longer.begin(), longer.end(), [](const Way& a, const Way& b) { return a.cost < b.cost; });
      if (longer.size() > kMostWays) longer.resize(kMostWays);
      all = std::move(longer);
    }
    return all;
  }

  // Is one of the operands there in parts, or given by the host, which sends parts as well as a whole, or is it where
  // the rule begins?
  bool follows(const Node& n, const std::vector<int>& dims) const {
    for (size_t i = 0; i < dims.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (dims[i] < 0 || g_.value(v).is_constant()) continue;
      if (made_along(v) == dims[i] || is_given(v) || moved_.contains({v, dims[i]})) return true;
      if (rule_.anywhere && made_along(v) < 0 && dims[i] == by_rule(dims_of(v))) return true;
    }
    return false;
  }

  std::optional<Cut> decide(NodeId id) const {
    const Node& n = g_.node(id);
    if (n.inputs.empty() || n.outputs.empty()) return std::nullopt;
    if (g_.op(id).kind == ops::OpKind::view) return cut_view(n);
    for (const Way& way : ways(n)) {
      if (!follows(n, way.dims)) continue;
      if (auto results = results_of(id, way.dims)) return Cut{way.dims, std::move(*results)};
    }
    return std::nullopt;
  }

  // A view costs nothing, so it does not cut what is whole but for the host.
  std::optional<Cut> cut_view(const Node& n) const {
    const ops::Shape &from = g_.value(n.inputs[0]).type.shape, &to = g_.value(n.outputs[0]).type.shape;
    for (const Option& option : options(n.inputs[0])) {
      if (option.dim < 0) continue;
      const int dim = behind_view(from, option.dim, to, shards_);
      if (dim < 0 || (made_along(n.inputs[0]) != option.dim && !is_given(n.inputs[0]))) continue;
      Cut cut{std::vector<int>(n.inputs.size(), -1), {dim}};
      cut.operands[0] = option.dim;
      return cut;
    }
    return std::nullopt;
  }

  std::optional<std::vector<int>> results_of(NodeId id, const std::vector<int>& dims) const {
    const Node& n = g_.node(id);
    std::vector<Share> operands;
    int64_t cut = 0, of = 0;  // elements of a share, of its dimension
    for (size_t i = 0; i < dims.size(); ++i) {
      operands.push_back({n.inputs[i].valid() ? g_.value(n.inputs[i]).type : ops::TensorType{}, dims[i]});
      if (dims[i] < 0) continue;
      int64_t& extent = operands[i].type.shape[size_t(dims[i])];
      if (of > 0 && !go_together(of, extent, shards_)) return std::nullopt;
      of = extent;
      extent = cut = extent_of(extent, shards_, 0);
    }
    const auto shares = graph::results_of_shares(g_, id, operands);
    if (!shares || shares->size() != n.outputs.size()) return std::nullopt;
    std::vector<int> results;
    for (size_t k = 0; k < shares->size(); ++k) {
      const ops::TensorType& result = g_.value(n.outputs[k]).type;
      ops::TensorType whole = (*shares)[k].type;
      int64_t& extent = whole.shape[size_t((*shares)[k].dim)];
      if (extent % cut != 0 || !go_together(of, extent / cut * of, shards_)) return std::nullopt;
      extent = extent / cut * of;
      if (!(whole == result)) return std::nullopt;
      results.push_back((*shares)[k].dim);
    }
    return results;
  }

  // What has to be put together or cut before this node is, once for each value.
  void pay(NodeId id, const Cut& cut) {
    const Node& n = g_.node(id);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (!v.valid() || g_.value(v).is_constant()) continue;
      const int made = made_along(v), dim = cut.operands[i];
      if (made == dim || (made < 0 && is_given(v)) || !moved_.emplace(v, dim).second) continue;
      saved_[made >= 0 ? part_of_.at(v) : id] -= words(v);
    }
  }

  // Operators that hand parts on to each other save together, or stay whole together.
  void keep_what_saves() {
    std::map<NodeId, NodeId> first;  // of an operator's set
    const auto set_of = [&](NodeId id) {
      while (first.at(id) != id) id = first.at(id);
      return id;
    };
    for (const auto& [id, cut] : design_.cuts) first.emplace(id, id);
    for (const auto& [id, cut] : design_.cuts)
      for (size_t i = 0; i < cut.operands.size(); ++i)
        if (cut.operands[i] >= 0 && part_of_.contains(g_.node(id).inputs[i]))
          first[set_of(id)] = set_of(part_of_.at(g_.node(id).inputs[i]));
    std::map<NodeId, double> saved;
    for (const auto& [id, cut] : design_.cuts) saved[set_of(id)] += saved_[id];
    // An input crosses the edge in pieces if nobody takes it whole.
    std::map<ValueId, std::set<NodeId>> takers;
    for (const auto& [id, cut] : design_.cuts)
      for (size_t i = 0; i < cut.operands.size(); ++i)
        if (const ValueId v = g_.node(id).inputs[i]; cut.operands[i] >= 0 && is_given(v)) takers[v].insert(set_of(id));
    for (const auto& [v, sets] : takers)
      for (const NodeId set : sets) saved[set] += sets.size() > 1 ? words(v) : 0;
    for (const auto& [id, made] : first) {
      if (saved.at(set_of(id)) > 0) continue;
      design_.cuts.erase(id);
      for (const ValueId v : g_.node(id).outputs) design_.dims.erase(v);
    }
    for (const auto& [set, words] : saved) design_.saved += std::max(words, 0.0);
  }

  const Graph& g_;
  const int64_t shards_;
  const Rule rule_;
  Design design_;
  std::map<ValueId, NodeId> part_of_;        // who makes it in parts
  std::map<NodeId, double> saved_;           // words, by the operators that save and cost them
  std::set<std::pair<ValueId, int>> moved_;  // put together (-1) or cut along a dimension already
};

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
  std::string name(const std::string& of, int64_t k) const { return g_.fresh_name(fmt::format("{}_shard{}", of, k)); }

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
      if (g_.op(id).kind == ops::OpKind::view) make_reshape(n, g_.value(results[0]).type.shape, cut.results[0], k);
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
  Design best;
  for (const Rule rule : kRules) {
    Design design = Designer(g, shards, rule).run();
    if (design.saved > best.saved) best = std::move(design);
  }
  return best.cuts.empty() || Maker(g, shards, best, made, diag).run();
}

bool cut_in_shards(Graph& g, PassContext& context) {
  const int64_t shards = context.rewrites.shards;
  Sharded made;
  if (!make_shards(g, shards, made, context.diag)) return false;
  if (shards > 1 && made.operators == 0)
    context.diag.warning(
        {}, g.states.empty()
                ? fmt::format("{}: nothing is computed in {} shards: no dimension of an input that {} divides is one "
                              "along which the operators behind it compute parts",
                              g.name, shards, shards)
                : fmt::format("{}: a step of training is computed whole, not in shards", g.name));
  return true;
}

}  // namespace cs::passes

// Which dimension is cut at first decides all that follows, so a few rules are tried out: the first dimension
// that can be cut, the second one, the third, of the inputs alone or of what is whole on the wafer too. From
// there operators are decided in the order of the dataflow, each by what the words cost that it needs in
// another way than they come. Parts of the graph that save fewer words than they cost are left whole.
#include "compiler/passes/shard_design.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/graph/sample.h"
#include "compiler/passes/shard_parts.h"
#include "compiler/passes/shard_sums.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

struct Rule {
  int dim = 0;            // of those that can be cut
  bool anywhere = false;  // begins with what is made on the wafer, too
  // Begins with the columns of constant matrices, and nowhere else.
  std::optional<ColumnsOf> columns = std::nullopt;
};
constexpr Rule kRules[] = {{0}, {1}, {2}, {0, true}, {1, true}, {2, true}};
constexpr size_t kMostWays = 64;  // to cut one operator's operands, the cheapest first

class Designer {
 public:
  Designer(const Graph& g, int64_t shards, Rule rule, const std::set<NodeId>& whole)
      : g_(g), shards_(shards), rule_(rule), whole_(whole) {}

  Design run() {
    for (const NodeId id : g_.topological()) {
      if (auto cut = decide(id)) {
        for (size_t k = 0; k < cut->results.size(); ++k) {
          const ValueId v = g_.node(id).outputs[k];
          if (!cut->joined_by.empty()) {
            saved_[id] -= words(v);
            continue;
          }
          design_.dims[v] = cut->results[k];
          part_of_[v] = id;
          saved_[id] += words(v) * double(shards_ - 1) / double(shards_);
        }
        pay(id, *cut);
        if (!cut->windows.empty()) saved_[id] -= halo_words(id, *cut);
        design_.cuts.emplace(id, std::move(*cut));
      } else {
        pay(id, {std::vector<int>(g_.node(id).inputs.size(), -1), {}});
      }
    }
    keep_sets();
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
  int made_along(ValueId v) const {  // -1: it is whole, or absent
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

  int by_rule(const std::vector<int>& dims) const {
    return dims[size_t(std::min(rule_.dim, int(dims.size()) - 1))];
  }

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
      std::stable_sort(longer.begin(), longer.end(),
                       [](const Way& a, const Way& b) { return a.cost < b.cost; });
      if (longer.size() > kMostWays) longer.resize(kMostWays);
      all = std::move(longer);
    }
    return all;
  }

  // Is one of the operands there in parts, or given by the host, which sends parts as well as a whole, or is
  // it where the rule begins?
  bool follows(const Node& n, const std::vector<int>& dims) const {
    if (rule_.columns.has_value()) return follows_columns(n, dims);
    for (size_t i = 0; i < dims.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (dims[i] < 0 || g_.value(v).is_constant()) continue;
      if (made_along(v) == dims[i] || is_given(v) || moved_.contains({v, dims[i]})) return true;
      if (rule_.anywhere && made_along(v) < 0 && dims[i] == by_rule(dims_of(v))) return true;
    }
    return false;
  }

  // Nothing but constants is cut that is not there in parts; nothing is put together.
  bool follows_columns(const Node& n, const std::vector<int>& dims) const {
    bool constant = false, parts = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      const ValueId v = n.inputs[i];
      if (!v.valid()) continue;
      const bool fixed = g_.value(v).is_constant();
      if (!fixed && dims[i] != made_along(v)) return false;
      constant = constant || (fixed && dims[i] >= 0);
      parts = parts || (!fixed && dims[i] >= 0);
    }
    return parts || (constant && ops::find_op(n.op)->kind == ops::OpKind::contraction);
  }

  std::optional<Cut> decide(NodeId id) const {
    const Node& n = g_.node(id);
    if (n.inputs.empty() || n.outputs.empty() || whole_.contains(id)) return std::nullopt;
    if (g_.op(id).kind == ops::OpKind::view) return cut_view(n);
    std::optional<Cut> best;
    double least = 0;
    for (const Way& way : ways(n)) {
      if (best && way.cost >= least) break;
      if (!follows(n, way.dims)) continue;
      std::optional<Cut> cut;
      double cost = way.cost;
      if (auto results = results_of_parts(g_, id, way.dims, shards_)) {
        cut = Cut{way.dims, std::move(*results)};
        if (!rule_.columns.has_value()) cost += put_together_behind(*cut, n);
      } else {
        cut = cut_windows(id, way.dims);
      }
      if (cut && (!best || cost < least)) best = std::move(cut), least = cost;
    }
    if (best) return best;
    const int dim = made_along(n.inputs[0]);
    if (dim < 0) return std::nullopt;
    if (!rule_.columns.has_value()) return reduction_of_parts(g_, id, dim, shards_);
    const bool sums =
        rule_.columns == ColumnsOf::sums && (n.inputs.size() < 3 || made_along(n.inputs[2]) < 0);
    return sums ? product_of_parts(g_, id, dim, shards_) : std::nullopt;
  }

  // Words of results that the users can only take when they are whole.
  double put_together_behind(const Cut& cut, const Node& n) const {
    double sum = 0;
    for (size_t k = 0; k < cut.results.size(); ++k)
      if (cut.results[k] >= 0) sum += words_put_together(g_, n.outputs[k], cut.results[k], shards_);
    return sum;
  }

  // Windows that slide over what is cut: each part of the result needs some of its neighbours' parts, too.
  std::optional<Cut> cut_windows(NodeId id, const std::vector<int>& dims) const {
    const auto whole = [](int dim) { return dim < 0; };
    if (rule_.columns.has_value() || whole(dims[0]) || !std::all_of(dims.begin() + 1, dims.end(), whole))
      return std::nullopt;
    auto shares = window_shares(g_, id, dims[0], shards_);
    if (!shares) return std::nullopt;
    return Cut{.operands = dims, .results = {dims[0]}, .windows = std::move(*shares)};
  }

  // By which the longest part of the operand is longer than without its neighbours' parts.
  double halo_words(NodeId id, const Cut& cut) const {
    const ValueId v = g_.node(id).inputs[0];
    const double extent = double(g_.value(v).type.shape[size_t(cut.operands[0])]);
    double longest = 0;
    for (const WindowShare& share : cut.windows) longest = std::max(longest, double(share.end - share.begin));
    return words(v) * std::max(0.0, longest / extent - 1 / double(shards_));
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
  void keep_sets() {
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
    if (rule_.columns.has_value()) {
      const std::set<NodeId> sets = sets_with_the_largest_inside(set_of);
      for (auto& [set, words] : saved)
        if (!sets.contains(set)) words = 0;
    }
    // An input crosses the edge in pieces if nobody takes it whole.
    std::map<ValueId, std::set<NodeId>> takers;
    for (const auto& [id, cut] : design_.cuts)
      for (size_t i = 0; i < cut.operands.size(); ++i)
        if (const ValueId v = g_.node(id).inputs[i]; cut.operands[i] >= 0 && is_given(v))
          takers[v].insert(set_of(id));
    for (const auto& [v, sets] : takers)
      for (const NodeId set : sets) saved[set] += sets.size() > 1 ? words(v) : 0;
    for (const auto& [id, made] : first) {
      if (saved.at(set_of(id)) > 0) continue;
      design_.cuts.erase(id);
      for (const ValueId v : g_.node(id).outputs) design_.dims.erase(v);
    }
    for (const auto& [set, words] : saved) design_.saved += std::max(words, 0.0);
  }

  // Sets that make something in parts that is larger than all that they take whole, and all that is put
  // together or added up of what they make.
  template <typename SetOf>
  std::set<NodeId> sets_with_the_largest_inside(const SetOf& set_of) const {
    std::map<NodeId, double> whole, parts;  // the most words
    std::set<NodeId> given, added;          // that make outputs; that end in a sum
    const auto note = [&](std::map<NodeId, double>& most, NodeId id, ValueId v) {
      double& so_far = most[set_of(id)];
      so_far = std::max(so_far, words(v));
    };
    for (const auto& [id, cut] : design_.cuts) {
      const Node& n = g_.node(id);
      for (size_t i = 0; i < n.inputs.size(); ++i)
        if (const ValueId v = n.inputs[i]; v.valid() && cut.operands[i] < 0 && !g_.value(v).is_constant())
          note(whole, id, v);
      const bool joined = !cut.joined_by.empty();
      if (joined) added.insert(set_of(id));
      for (const ValueId v : n.outputs) {
        note(joined ? whole : parts, id, v);
        if (joined) continue;
        if (g_.value(v).is_output) given.insert(set_of(id));
      }
    }
    for (const auto& [v, dim] : moved_)
      if (made_along(v) >= 0) note(whole, part_of_.at(v), v);
    std::set<NodeId> sets;
    for (const auto& [set, most] : parts)
      if (most > whole[set] && given.contains(set) == (rule_.columns == ColumnsOf::outputs) &&
          added.contains(set) == (rule_.columns == ColumnsOf::sums))
        sets.insert(set);
    return sets;
  }

  const Graph& g_;
  const int64_t shards_;
  const Rule rule_;
  const std::set<NodeId>& whole_;
  Design design_;
  std::map<ValueId, NodeId> part_of_;        // who makes it in parts
  std::map<NodeId, double> saved_;           // words, by the operators that save and cost them
  std::set<std::pair<ValueId, int>> moved_;  // put together (-1) or cut along a dimension already
};

}  // namespace

Design design_shards(const Graph& g, int64_t shards, const std::set<NodeId>& whole) {
  Design best;
  for (const Rule rule : kRules) {
    Design design = Designer(g, shards, rule, whole).run();
    if (design.saved > best.saved) best = std::move(design);
  }
  return best;
}

Design design_columns(const Graph& g, int64_t columns, ColumnsOf of, const std::set<NodeId>& whole) {
  return Designer(g, columns, {.dim = 0, .anywhere = false, .columns = of}, whole).run();
}

}  // namespace cs::passes

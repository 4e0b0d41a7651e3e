// The graph with the parts of its operators, as they were designed.
#include "compiler/passes/shards.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "compiler/graph/add_nodes.h"
#include "compiler/graph/sample.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pick_parts.h"
#include "compiler/passes/shard_design.h"
#include "compiler/passes/shard_windows.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

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
      operands.push_back(i == 0 && !cut.windows.empty() ? with_halos(inputs[0], cut.operands[0], cut.windows)
                         : cut.operands[i] < 0 ? std::vector<ValueId>(size_t(shards_), whole(inputs[i]))
                                               : parts(inputs[i], cut.operands[i]));
      if (inputs[i].valid() && !operands.back()[0].valid()) return false;
    }
    std::vector<ValueId> joined;
    for (int64_t k = 0; k < shards_; ++k) {
      Node n = g_.node(id);
      n.name = name(n.name, k);
      n.inputs.clear(), n.outputs.clear();
      for (const auto& operand : operands) n.inputs.push_back(operand[size_t(k)]);
      if (g_.op(id).kind == ops::OpKind::view)
        make_reshape(n, g_.value(results[0]).type.shape, cut.results[0], k);
      if (!cut.windows.empty()) slide_over_share(g_, id, n, cut.operands[0], cut.windows[size_t(k)]);
      const NodeId part = g_.add_node(std::move(n));
      made_.nodes.insert(part);
      for (const ValueId v : results) {
        const ValueId made = g_.add_result(part, name(g_.value(v).name, k));
        (cut.joined_by.empty() ? parts_[v] : joined).push_back(made);
      }
      if (!cut.joined_by.empty() && k > 0 && g_.node(part).inputs.size() > 2) g_.set_input_of(part, 2, {});
      if (!graph::infer_node(g_, part, diag_)) return false;
      const bool mean = !joined.empty() && g_.node(id).op == "reduce_mean";
      if (mean && !weigh(joined.back(), inputs[0], cut.operands[0], k)) return false;
    }
    return cut.joined_by.empty() || join(results[0], std::move(joined), std::string(cut.joined_by));
  }

  // The mean of a part counts as much as the part has of all elements.
  bool weigh(ValueId& mean, ValueId of, int dim, int64_t k) {
    const int64_t extent = g_.value(of).type.shape[size_t(dim)];
    ops::Tensor weight(ops::TensorType{g_.value(mean).type.dtype, {}});
    weight.set(0, double(extent_of(extent, shards_, k)) / double(extent));
    Node n;
    n.op = "mul", n.name = g_.fresh_name(g_.value(mean).name + "_weighed");
    n.inputs = {mean, g_.add_constant(g_.fresh_name(n.name + "_weight"), std::move(weight))};
    mean = graph::add_typed(g_, std::move(n), diag_);
    if (mean.valid()) made_.nodes.insert(g_.value(mean).producer);
    return mean.valid();
  }

  // Neighbours first, so that no way from a part to the whole is longer than it needs to be.
  bool join(ValueId v, std::vector<ValueId> sums, const std::string& op) {
    const std::string name = g_.value(v).name + "_" + op;
    while (sums.size() > 1) {
      std::vector<ValueId> fewer;
      for (size_t k = 0; k < sums.size(); k += 2) {
        fewer.push_back(sums[k]);
        if (k + 1 == sums.size()) continue;
        Node n;
        n.op = op, n.name = g_.fresh_name(name), n.inputs = {sums[k], sums[k + 1]};
        fewer.back() = graph::add_typed(g_, std::move(n), diag_);
        if (!fewer.back().valid()) return false;
        made_.nodes.insert(g_.value(fewer.back()).producer);
      }
      sums = std::move(fewer);
    }
    g_.replace_uses(v, sums[0]);
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
    return graph::add_concat(g_, std::move(values), dim, name, "what the shards give", diag_);
  }

  ValueId whole(ValueId v) {
    if (!v.valid() || !parts_.contains(v)) return v;
    const auto [it, is_new] = whole_.try_emplace(v);
    if (!is_new) return it->second;
    ++made_.joined;
    std::vector<ValueId> values = parts_.at(v);
    const int dim = design_.dims.at(v);
    const std::string name = g_.value(v).name + "_whole";
    const bool large = g_.value(v).type.elements() >= kManyWords;
    while (values.size() > (large ? kJoinedAtOnce : kMostJoined)) {
      std::vector<ValueId> fewer;
      for (size_t k = 0; k < values.size(); k += kJoinedAtOnce) {
        const size_t end = std::min(k + kJoinedAtOnce, values.size());
        fewer.push_back(concat({values.begin() + ptrdiff_t(k), values.begin() + ptrdiff_t(end)}, dim, name));
        if (!fewer.back().valid()) return {};
      }
      values = std::move(fewer);
    }
    it->second = concat(values, dim, name);
    if (it->second.valid()) made_.wholes.insert(it->second);
    return it->second;
  }

  const std::vector<ValueId>& parts(ValueId v, int dim) {
    if (parts_.contains(v) && design_.dims.at(v) == dim) return parts_.at(v);
    std::vector<ValueId>& made = slices_[{v, dim}];
    if (!made.empty()) return made;
    const ValueId from = whole(v);
    const int64_t extent = g_.value(v).type.shape[size_t(dim)];
    for (int64_t k = 0; k < shards_; ++k) {
      const int64_t begin = begin_of(extent, shards_, k), end = begin_of(extent, shards_, k + 1);
      const std::string name = fmt::format("{}_share{}", g_.value(v).name, k);
      if (const auto constant = g_.shared_constant_of(v))
        made.push_back(g_.add_constant(g_.fresh_name(name + "_y"), part_of(*constant, dim, begin, end)));
      else
        made.push_back(from.valid() ? graph::add_share(g_, from, dim, begin, end, name,
                                                       "a shard's part of an operand", diag_)
                                    : ValueId{});
    }
    return made;
  }

  // What windows read of a value in parts, once for all nodes that read the same.
  std::vector<ValueId> with_halos(ValueId v, int dim, const std::vector<WindowShare>& shares) {
    std::vector<ValueId> own = parts(v, dim);
    if (!own[0].valid()) return own;
    std::vector<ValueId> made;
    for (const WindowShare& share : shares) {
      ValueId& all = halos_[{v, dim, share.begin, share.end}];
      if (!all.valid()) all = between(v, own, dim, share.begin, share.end);
      made.push_back(all);
      if (!all.valid()) return {{}};
    }
    return made;
  }

  ValueId between(ValueId v, const std::vector<ValueId>& own, int dim, int64_t begin, int64_t end) {
    const int64_t extent = g_.value(v).type.shape[size_t(dim)];
    const std::string name = g_.value(v).name + "_halo";
    std::vector<ValueId> pieces;
    for (int64_t k = 0; k < shards_; ++k) {
      const int64_t first = begin_of(extent, shards_, k), last = begin_of(extent, shards_, k + 1);
      const int64_t from = std::max(begin, first) - first, to = std::min(end, last) - first;
      if (from >= to) continue;
      pieces.push_back(to - from == last - first ? own[size_t(k)]
                                                 : graph::add_share(g_, own[size_t(k)], dim, from, to, name,
                                                                    "rows of a neighbour", diag_));
      if (!pieces.back().valid()) return {};
    }
    return pieces.size() == 1
               ? pieces[0]
               : graph::add_concat(g_, std::move(pieces), dim, name, "what windows read", diag_);
  }

  // Tables of a vocabulary have 100 MB and more: block by block.
  static ops::Tensor part_of(const ops::Tensor& all, int dim, int64_t begin, int64_t end) {
    ops::TensorType type = all.type;
    type.shape[size_t(dim)] = end - begin;
    ops::Tensor part(type);
    size_t blocks = 1;
    for (int d = 0; d < dim; ++d) blocks *= size_t(type.shape[size_t(d)]);
    const size_t from = all.bytes.size() / blocks, to = part.bytes.size() / blocks;
    const size_t first = from / size_t(all.type.shape[size_t(dim)]) * size_t(begin);
    for (size_t b = 0; b < blocks; ++b)
      std::memcpy(part.bytes.data() + b * to, all.bytes.data() + b * from + first, to);
    return part;
  }

  // What the host receives in pieces needs no kernel that joins them.
  ValueId given(ValueId v) {
    if (!parts_.contains(v) || whole_.contains(v)) return whole(v);
    ++made_.joined;
    const ValueId all = concat(parts_.at(v), design_.dims.at(v), g_.value(v).name + "_whole");
    if (all.valid()) made_.nodes.insert(g_.value(all).producer);
    return all;
  }

  bool give_outputs() {
    const std::vector<ValueId> outputs = g_.outputs;
    g_.clear_outputs();
    for (const ValueId v : outputs) {
      const ValueId all = given(v);
      if (!all.valid()) return false;
      if (all != v) graph::pass_name_on(g_, v, all, "_shard");
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
  std::map<std::tuple<ValueId, int, int64_t, int64_t>, ValueId>
      halos_;                                                       // of a value, along a dimension: from, to
  std::map<ValueId, ValueId> whole_;                                // put together again
};

}  // namespace

bool make_shards(Graph& g, int64_t shards, Sharded& made, Diag& diag, const std::set<NodeId>& whole) {
  made = {};
  if (shards < 2 || !g.states.empty()) return true;
  const Design best = design_shards(g, shards, whole);
  return best.cuts.empty() || Maker(g, shards, best, made, diag).run();
}

bool make_columns(Graph& g, int64_t columns, ColumnsOf of, Sharded& made, Diag& diag, const std::set<NodeId>& whole) {
  made = {};
  if (!g.states.empty()) return true;
  for (int64_t parts = columns; parts > 1; --parts) {
    std::set<NodeId> stay = whole;
    stay.insert(made.nodes.begin(), made.nodes.end());
    const Design design = design_columns(g, parts, of, stay);
    if (!design.cuts.empty() && !Maker(g, parts, design, made, diag).run()) return false;
  }
  return true;
}

bool cut_in_shards(Graph& g, PassContext& context) {
  const int64_t shards = context.rewrites.shards, columns = context.rewrites.columns, heads = context.rewrites.heads,
                sums = context.rewrites.sums;
  Sharded outputs, inside, added, made;
  if (!make_columns(g, columns, ColumnsOf::outputs, outputs, context.diag) ||
      !make_columns(g, heads, ColumnsOf::heads, inside, context.diag) ||
      !make_columns(g, sums, ColumnsOf::sums, added, context.diag, inside.nodes) ||
      !make_shards(g, shards, made, context.diag, outputs.nodes) || !pick_from_parts(g, made.wholes, context.diag))
    return false;
  const auto warn = [&](const std::string& why) {
    context.diag.warning({}, g.states.empty() ? fmt::format("{}: {}", g.name, why)
                                              : fmt::format("{}: a step of training is computed whole, not in shards",
                                                            g.name));
  };
  if (shards > 1 && made.operators == 0)
    warn(fmt::format("nothing is computed in {} shards: no dimension of an input that {} divides is one along which "
                     "the operators behind it compute parts",
                     shards, shards));
  if (columns > 1 && outputs.operators == 0)
    warn("no product that makes an output is cut by its columns: the output is not larger than what has to be whole");
  if (heads > 1 && inside.operators == 0)
    warn("nothing is computed head by head: no result would be larger than what has to be whole");
  if (sums > 1 && added.operators == 0)
    warn("no product is added up from parts: nothing that one adds up is larger than what it is made of and its sum");
  return true;
}

}  // namespace cs::passes

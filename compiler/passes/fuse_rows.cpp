// Fusion of whole rows: around every sum or maximum of the last dimensions, the elementwise operators and
// further reductions that need nothing but one stream of such rows, and numbers of the same row, become one
// kernel (autogen/row_group.h). So a softmax or a norm that was decomposed is one kernel again, whatever its
// name was.
//
//   1. grow     backwards over operators that only the group uses, forwards over all that need nothing else
//   2. shrink   to the longest beginning that has one result and fits a PE
//
// No cycle can arise: all that a group needs is one value, which was made before any of its nodes.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/row_code.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/losses.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

class Fuser {
 public:
  Fuser(Graph& g, const PassContext& context) : g_(g), context_(context) {}

  void run() {
    const std::vector<NodeId> order = g_.topological();
    for (size_t i = 0; i < order.size(); ++i) position_.emplace(order[i], i);
    for (NodeId id : order) {
      if (g_.op(id).kind != ops::OpKind::reduction || !is_free(id)) continue;
      rows_ = n_ = 0;
      std::string why;
      if (!autogen::row_member(g_, id, rows_, n_, why)) continue;
      group_ = {id};
      grow();
      shrink();
    }
  }

 private:
  bool is_free(NodeId id) const {
    const graph::Assignment& a = g_.node(id).assignment;
    return a.origin && *a.origin != Origin::host && a.group.empty() &&
           !context_.fallbacks.apart(g_.node(id).name) && !is_of_loss(g_, id);
  }
  bool may_join(NodeId id) {
    std::string why;
    return !group_.count(id) && is_free(id) && autogen::row_member(g_, id, rows_, n_, why);
  }
  NodeId producer(ValueId v) const { return g_.value(graph::source_of(g_, v)).producer; }
  bool inside(ValueId v) const { return producer(v).valid() && group_.count(producer(v)) > 0; }

  // Streams that the node needs and the group does not make.
  std::set<ValueId> streams(NodeId id) const {
    std::set<ValueId> list;
    for (ValueId v : g_.node(id).inputs) {
      const ValueId source = v.valid() ? graph::source_of(g_, v) : v;
      if (v.valid() && !g_.value(source).is_constant() && !inside(source)) list.insert(source);
    }
    return list;
  }
  std::set<ValueId> streams() const {
    std::set<ValueId> list;
    for (NodeId id : group_) list.merge(streams(id));
    return list;
  }

  // Users of a value, through views.
  std::vector<NodeId> users(ValueId v) const {
    std::vector<NodeId> list;
    for (NodeId user : g_.value(v).users) {
      if (!graph::is_transparent(g_, user)) {
        list.push_back(user);
      } else {
        for (NodeId behind : users(g_.node(user).outputs[0])) list.push_back(behind);
      }
    }
    return list;
  }

  void grow() {
    for (bool more = true; more;) {
      more = false;
      for (bool back = true; back; more = more || back) back = take_producer();
      for (bool on = true; on; more = more || on) on = take_user();
    }
  }

  bool take_producer() {
    for (ValueId v : streams()) {
      const NodeId id = g_.value(v).producer;
      if (!id.valid() || g_.value(v).is_output || !may_join(id) || streams(id).size() > 1) continue;
      const std::vector<NodeId> all = users(v);
      if (!std::all_of(all.begin(), all.end(), [&](NodeId u) { return group_.count(u) > 0; })) continue;
      group_.insert(id);
      return true;
    }
    return false;
  }

  // The node itself, or a maker of what it needs beside the known streams; neither needs anything else.
  NodeId first_missing(NodeId id, const std::set<ValueId>& known) {
    for (ValueId v : streams(id)) {
      if (known.count(v) > 0) continue;
      const NodeId maker = g_.value(v).producer;
      const std::set<ValueId> needs = maker.valid() ? streams(maker) : std::set<ValueId>{v};
      return std::includes(known.begin(), known.end(), needs.begin(), needs.end()) ? maker : NodeId{};
    }
    return id;
  }

  bool take_user() {
    const std::set<ValueId> known = streams();
    for (NodeId member : group_) {
      for (ValueId v : g_.node(member).outputs) {
        for (NodeId user : users(v)) {
          const NodeId next = first_missing(user, known);
          if (!next.valid() || !may_join(next)) continue;
          group_.insert(next);
          return true;
        }
      }
    }
    return false;
  }

  void shrink() {
    std::vector<NodeId> nodes(group_.begin(), group_.end());
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return position_.at(a) < position_.at(b); });
    for (; nodes.size() > 1; nodes.pop_back()) {
      autogen::RowGroup group;
      std::string why;
      if (!autogen::make_row_group(g_, nodes, group, why) || !autogen::row_fits(group, context_.machine))
        continue;
      const std::string name = g_.node(nodes.front()).name;
      for (NodeId id : nodes) {
        graph::Assignment& a = g_.node(id).assignment;
        a.origin = Origin::autogen;
        a.kernel = kernels::generated_id(*kernels::rows_kind());
        a.group = name;
        const auto benefit = context_.benefits.find(g_.node(id).from);
        a.reason = fmt::format("{}whole rows of {} elements, one after another",
                               benefit != context_.benefits.end() ? benefit->second + "; " : "", n_);
      }
      return;
    }
  }

  Graph& g_;
  const PassContext& context_;
  std::map<NodeId, size_t> position_;
  int64_t rows_ = 0, n_ = 0;
  std::set<NodeId> group_;
};

}  // namespace

bool fuse_rows(Graph& g, PassContext& context) {
  if (context.policy != Policy::disabled) Fuser(g, context).run();
  return true;
}

}  // namespace cs::passes

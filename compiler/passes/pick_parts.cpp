// Slices that lie in one part, and gathers of fewer elements than the parts have.
#include "compiler/passes/pick_parts.h"

#include <algorithm>
#include <vector>

#include "compiler/graph/sample.h"
#include "compiler/passes/table_parts.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

class Picker {
 public:
  Picker(Graph& g, ValueId joined, Diag& diag) : g_(g), joined_(joined), diag_(diag) {
    dim_ = dim_of(g.value(joined).producer);
    collect(joined);
  }

  bool run() {
    const std::vector<NodeId> users = g_.value(joined_).users;
    for (const NodeId id : users) {
      const Node n = g_.node(id);  // by value: new nodes move the graph's
      if (n.inputs[0] != joined_ || std::ranges::count(n.inputs, joined_) != 1) continue;
      if (n.op == "slice" && !slice(n, id)) return false;
      if ((n.op == "gather" || n.op == "gather_nd") && picks_few(n, id) && !gather(id)) return false;
    }
    return true;
  }

 private:
  // All values that are looked at have the rank of the joined one.
  int from_front(int64_t axis) const {
    return int(axis < 0 ? axis + int64_t(g_.value(joined_).type.shape.size()) : axis);
  }
  int dim_of(NodeId id) const { return from_front(ops::attr_int(g_.op(id), g_.node(id).attrs, "axis")); }

  // More values than a kernel has queues are joined by several concats.
  void collect(ValueId v) {
    const NodeId from = g_.value(v).producer;
    if (!from.valid() || g_.node(from).op != "concat" || dim_of(from) != dim_) {
      parts_.push_back({v, g_.value(v).type.shape[size_t(dim_)]});
      return;
    }
    for (const ValueId part : g_.node(from).inputs) collect(part);
  }

  bool slice(const Node& n, NodeId id) {
    const auto list = [&](const char* name) { return ops::attr_ints(g_.op(id), n.attrs, name); };
    std::vector<int64_t> starts = list("starts"), ends = list("ends"), axes = list("axes"),
                         steps = list("steps");
    const int64_t extent = g_.value(joined_).type.shape[size_t(dim_)];
    const auto from_start = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
    };
    for (size_t k = 0; k < axes.size(); ++k) {
      if (from_front(axes[k]) != dim_ || (k < steps.size() && steps[k] != 1)) continue;
      const int64_t start = from_start(starts[k]), end = from_start(ends[k]);
      int64_t first = 0;
      for (const TablePart& part : parts_) {
        if (first <= start && start < end && end <= first + part.count) {
          Attrs attrs = n.attrs;
          starts[k] = start - first, ends[k] = end - first;
          ops::set_attr(attrs, "starts", starts);
          ops::set_attr(attrs, "ends", ends);
          Rewriter r(g_, id, diag_);
          return r.replace({r.op("slice", {part.rows}, std::move(attrs))});
        }
        first += part.count;
      }
    }
    return true;
  }

  // Along the dimension of the parts, and by one index each.
  bool picks_few(const Node& n, NodeId id) const {
    const graph::Value& index = g_.value(n.inputs[1]);
    if (index.is_constant()) return false;
    const int64_t words = g_.value(n.outputs[0]).type.elements();
    if (words * int64_t(parts_.size()) >= g_.value(joined_).type.elements()) return false;
    if (n.op == "gather_nd")
      return ops::attr_int(g_.op(id), n.attrs, "batch_dims") == dim_ && index.type.shape.back() == 1;
    return dim_of(id) == dim_;
  }

  bool gather(NodeId id) {
    Rewriter r(g_, id, diag_);
    return r.replace({gather_from_parts(r, parts_, dim_)});
  }

  Graph& g_;
  const ValueId joined_;
  Diag& diag_;
  int dim_ = 0;
  std::vector<TablePart> parts_;
};

}  // namespace

bool pick_from_parts(Graph& g, const std::set<ValueId>& joined, Diag& diag) {
  if (joined.empty()) return true;
  for (const ValueId v : joined)
    if (!Picker(g, v, diag).run()) return false;
  g.remove_dead();
  return graph::propagate_samples(g, diag);
}

}  // namespace cs::passes

// Recurrences step by step, where that is faster or asked for: a layer over T steps becomes T layers of one
// step, each a kernel of its own, so that T samples are under way in it at once. It costs T times the PEs for
// the weights.
//
//   y, h = lstm(x[T], h0)   =   y[t], h[t] = lstm(x[t], h[t - 1])  for every step, y = concat of all y[t]
//
// Both directions of a layer are layers of their own. A layer whose sequences have lengths stays whole: its
// samples would end at different steps.
#include "compiler/passes/unroll.h"

#include <algorithm>

#include "compiler/graph/sample.h"
#include "compiler/passes/rewriter.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// Where an operand of this name is among a row's, or nothing.
std::optional<size_t> operand(const ops::OpDef& op, std::string_view name) {
  const auto it = std::find(op.operands.begin(), op.operands.end(), name);
  return it == op.operands.end() ? std::nullopt : std::optional(size_t(it - op.operands.begin()));
}

class Unroller {
 public:
  Unroller(Graph& g, NodeId id, Diag& diag)
      : r_(g, id, diag), op_(g.op(id)), batch_first_(ops::attr_int(op_, r_.node().attrs, "layout") != 0) {
    steps_ = r_.type(r_.node().inputs[0]).shape[batch_first_ ? 1 : 0];
  }

  bool run() {
    const std::string direction = ops::attr_text(op_, r_.node().attrs, "direction");
    if (direction == "bidirectional") {
      add_way(0, false, true);
      add_way(1, true, true);
    } else {
      add_way(0, direction == "reverse", false);
    }
    std::vector<ValueId> made{joined(0, y_axis())};
    for (size_t k = 1; k < r_.node().outputs.size(); ++k) made.push_back(joined(k, state_axis()));
    return r_.replace(made);
  }

 private:
  int64_t time_axis() const { return batch_first_ ? 1 : 0; }
  int64_t state_axis() const { return batch_first_ ? 1 : 0; }  // of the directions
  int64_t y_axis() const { return batch_first_ ? 2 : 1; }

  ValueId part(ValueId v, int64_t axis, int64_t index) {
    return r_.op("slice", {v}, {{"starts", Ints{index}}, {"ends", Ints{index + 1}}, {"axes", Ints{axis}}});
  }
  ValueId joined(size_t result, int64_t axis) {
    const std::vector<ValueId>& parts = results_[result];
    return parts.size() == 1 ? parts[0] : r_.op("concat", parts, {{"axis", axis}});
  }

  // Operands of one direction: of weights and states its part, if there are two.
  std::vector<ValueId> operands_of(int64_t way, bool both) {
    std::vector<ValueId> list = r_.node().inputs;
    list.resize(op_.operands.size());
    for (size_t i = 1; i < list.size(); ++i) {
      const bool state = op_.operands[i].starts_with("initial");
      if (list[i].valid() && both) list[i] = part(list[i], state ? state_axis() : 0, way);
    }
    return list;
  }

  Attrs attributes_of(int64_t way, bool both) const {
    Attrs attrs = r_.node().attrs;
    std::erase_if(attrs, [](const auto& a) { return a.first == "direction"; });
    const AttrValue* given = ops::find_attr(r_.node().attrs, "activations");
    if (!both || given == nullptr) return attrs;
    const std::string words = std::get<std::string>(*given) + " ";
    // Those of the first direction, then as many of the second one.
    const auto count = std::count(words.begin(), words.end(), ' ');
    size_t half = 0;
    for (auto k = count / 2; k > 0; --k) half = words.find(' ', half) + 1;
    ops::set_attr(attrs, "activations", way == 0 ? words.substr(0, half) : words.substr(half));
    return attrs;
  }

  void add_way(int64_t way, bool backward, bool both) {
    std::vector<ValueId> inputs = operands_of(way, both);
    const ValueId x = inputs[0];
    const Attrs attrs = attributes_of(way, both);
    const std::optional<size_t> h = operand(op_, "initial_h"), c = operand(op_, "initial_c");
    std::vector<ValueId> by_time(size_t(steps_), ValueId{}), last;
    for (int64_t k = 0; k < steps_; ++k) {
      const int64_t time = backward ? steps_ - 1 - k : k;
      inputs[0] = part(x, time_axis(), time);
      last = r_.results(r_.node().op.c_str(), inputs, attrs, op_.results.size());
      by_time[size_t(time)] = last[0];
      // What the step gives is its state too; a view of it.
      last[1] = r_.op("squeeze", {last[0]}, {{"axes", Ints{1}}});
      inputs[*h] = last[1];
      if (c) inputs[*c] = last[2];
    }
    results_.resize(op_.results.size());
    results_[0].push_back(steps_ == 1 ? by_time[0] : r_.op("concat", by_time, {{"axis", time_axis()}}));
    for (size_t result = 1; result < last.size(); ++result) results_[result].push_back(last[result]);
  }

  Rewriter r_;
  const ops::OpDef& op_;
  const bool batch_first_;
  int64_t steps_ = 0;
  std::vector<std::vector<ValueId>> results_;  // by result, of each direction
};

}  // namespace

std::optional<int64_t> steps_of_recurrence(const Graph& g, NodeId id) {
  const ops::OpDef& op = g.op(id);
  const std::vector<ValueId>& inputs = g.node(id).inputs;
  const std::optional<size_t> lengths = operand(op, "sequence_lengths");
  if (!lengths || !operand(op, "initial_h")) return std::nullopt;
  if (inputs.size() > *lengths && inputs[*lengths].valid()) return std::nullopt;
  const Attrs& attrs = g.node(id).attrs;
  // Their factors go by activation, whichever direction has it.
  const bool both = ops::attr_text(op, attrs, "direction") == "bidirectional";
  for (const char* factors : {"activation_alpha", "activation_beta"})
    if (both && ops::find_attr(attrs, factors) != nullptr) return std::nullopt;
  return g.value(inputs[0]).type.shape[ops::attr_int(op, attrs, "layout") != 0 ? 1 : 0];
}

bool unroll_node(Graph& g, NodeId id, Diag& diag) { return Unroller(g, id, diag).run(); }

bool unroll_recurrences(Graph& g, PassContext& context) {
  if (!context.unroll) context.unrolled = worth_unrolling(g, context);
  const int64_t most = context.unroll.value_or(0);
  for (NodeId id : g.topological()) {
    const std::optional<int64_t> steps = steps_of_recurrence(g, id);
    const bool chosen = context.unrolled.count(g.node(id).name) > 0;
    if (!steps || *steps < 2 || (*steps > most && !chosen)) continue;
    if (!unroll_node(g, id, context.diag)) return false;
  }
  g.remove_dead();
  return graph::propagate_samples(g, context.diag);
}

}  // namespace cs::passes

// Nodes are visited from the outputs to the wanted values; each adds what it knows to the gradients of its
// operands.
#include "compiler/graph/gradients.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/expand.h"
#include "runtime/ops/gradient.h"

namespace cs::graph {

namespace {

class Backward {
 public:
  Backward(Graph& g, Diag& diag) : g_(g), diag_(diag) {}

  bool run(std::span<const std::pair<ValueId, ValueId>> outputs, std::span<const ValueId> wanted,
           std::vector<ValueId>& gradients) {
    const std::vector<NodeId> order = g_.topological();
    active_.insert(wanted.begin(), wanted.end());
    for (NodeId id : order) {
      bool any = false;
      for (ValueId v : g_.node(id).inputs) any = any || (v.valid() && active_.contains(v));
      if (!any) continue;
      for (ValueId v : g_.node(id).outputs) {
        if (data_type_is_float(g_.value(v).type.dtype)) active_.insert(v);
      }
    }
    for (const auto& [output, upstream] : outputs) {
      if (g_.value(output).type != g_.value(upstream).type) {
        diag_.error_at(g_.value(upstream).name,
                       fmt::format("it is {}, the output '{}' whose gradient it is {}",
                                   ops::type_text(g_.value(upstream).type), g_.value(output).name,
                                   ops::type_text(g_.value(output).type)));
        return false;
      }
      if (active_.contains(output)) parts_[output].push_back(upstream);
    }
    for (size_t i = order.size(); i-- > 0;) {
      if (!through(order[i])) return false;
    }
    gradients.clear();
    for (ValueId v : wanted) {
      const auto sum = sum_of(v);
      if (!sum) return false;
      gradients.push_back(sum->valid() ? *sum : zeros(v));
    }
    return true;
  }

 private:
  // An invalid value: zero. Nothing: an error.
  std::optional<ValueId> sum_of(ValueId v) {
    const auto found = parts_.find(v);
    if (found == parts_.end()) return ValueId{};
    std::vector<ValueId>& parts = found->second;
    while (parts.size() > 1) {
      const ValueId last = parts.back();
      parts.pop_back();
      Node sum;
      sum.name = g_.fresh_name(g_.value(v).name + "_gradient_sum");
      sum.op = "add";
      sum.inputs = {parts.back(), last};
      sum.where = fmt::format("the gradient of '{}', backward", g_.value(v).name);
      const NodeId id = g_.add_node(std::move(sum));
      parts.back() = g_.add_result(id, g_.fresh_name(g_.node(id).name + "_out"));
      if (!infer_node(g_, id, diag_)) return std::nullopt;
    }
    return parts[0];
  }

  ValueId zeros(ValueId v) {
    return g_.add_constant(g_.fresh_name(g_.value(v).name + "_no_gradient"), ops::Tensor(g_.value(v).type));
  }

  bool through(NodeId id) {
    const Node node = g_.node(id);
    const ops::OpDef& row = g_.op(id);
    std::vector<bool> wanted, given;
    std::vector<ValueId> up;
    bool any = false;
    for (ValueId v : node.inputs) wanted.push_back(v.valid() && active_.contains(v));
    for (ValueId v : node.outputs) {
      const auto sum = active_.contains(v) ? sum_of(v) : ValueId{};
      if (!sum) return false;
      up.push_back(*sum);
      given.push_back(sum->valid());
      any = any || sum->valid();
    }
    if (!any) return true;
    std::vector<ops::TensorType> types;
    for (ValueId v : node.outputs) types.push_back(g_.value(v).type);
    // Copies: the graph moves its values when the steps are added.
    std::vector<ops::TensorType> operand_types;
    for (ValueId v : node.inputs) operand_types.push_back(v.valid() ? g_.value(v).type : ops::TensorType{});
    std::vector<const ops::TensorType*> inputs;
    for (size_t k = 0; k < node.inputs.size(); ++k)
      inputs.push_back(node.inputs[k].valid() ? &operand_types[k] : nullptr);
    std::vector<ops::DecompositionStep> steps;
    std::map<std::string, ValueId> values;
    for (size_t k = 0; k < node.inputs.size(); ++k) values[fmt::format("x{}", k)] = node.inputs[k];
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      values[fmt::format("y{}", k)] = node.outputs[k];
      values[fmt::format("dy{}", k)] = up[k];
    }
    const ops::GradientCall call{row, node.attrs, inputs, types, wanted, given};
    std::string error;
    if (row.loss) {
      steps = {loss_step(call, row)};
    } else if (!ops::gradient_steps(call, steps, error)) {
      node_error(g_, id, diag_, error);
      return false;
    }
    Node like = node;
    like.name = g_.fresh_name(node.name + "_gradient");
    like.where = node.where + ", backward";
    if (!add_steps(g_, like, steps, values, diag_)) return false;
    // A loss's backward pass is an operator of the graph like the loss.
    if (row.loss) stand_alone(values, node.inputs.size());
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const auto made = values.find(fmt::format("dx{}", k));
      if (made != values.end() && call.wants(k)) parts_[node.inputs[k]].push_back(made->second);
    }
    return true;
  }

  void stand_alone(const std::map<std::string, ValueId>& values, size_t operands) {
    for (size_t k = 0; k < operands; ++k) {
      const auto made = values.find(fmt::format("dx{}", k));
      if (made == values.end() || !g_.value(made->second).producer.valid()) continue;
      Node& node = g_.node(g_.value(made->second).producer);
      node.from.clear();
      node.from_op.clear();
    }
  }

  // Operands of the row that are absent keep their places.
  static ops::DecompositionStep loss_step(const ops::GradientCall& call, const ops::OpDef& row) {
    ops::DecompositionStep step;
    step.op = std::string(row.name) + "_gradient";
    step.attrs = call.attrs;
    std::vector<int64_t> wanted;
    for (size_t k = 0; k < row.operands.size(); ++k) {
      step.operands.push_back(call.input(k) != nullptr ? fmt::format("x{}", k) : "");
      step.results.push_back(fmt::format("{}x{}", call.wants(k) ? "d" : "no_d", k));
      if (call.wants(k)) wanted.push_back(int64_t(k));
    }
    ops::set_attr(step.attrs, "wanted", std::move(wanted));
    for (size_t k = 0; k < call.outputs.size(); ++k)
      step.operands.push_back(call.gives(k) ? fmt::format("dy{}", k) : "");
    while (!step.results.empty() && step.results.back().starts_with("no_")) step.results.pop_back();
    return step;
  }

  Graph& g_;
  Diag& diag_;
  std::set<ValueId> active_;
  std::map<ValueId, std::vector<ValueId>> parts_;
};

}  // namespace

bool add_gradients(Graph& g, std::span<const std::pair<ValueId, ValueId>> outputs,
                   std::span<const ValueId> wanted, std::vector<ValueId>& gradients, Diag& diag) {
  return Backward(g, diag).run(outputs, wanted, gradients);
}

}  // namespace cs::graph

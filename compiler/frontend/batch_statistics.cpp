// The row batch_norm (runtime/ops/rows_normalization.cpp) has the calculation; here are attributes and results.
#include "compiler/frontend/batch_statistics.h"

#include <fmt/format.h>

namespace cs::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMean = 3, kVariance = 4;      // operands
constexpr const char* kResults[] = {"mean", "variance"};

bool takes_batch(const Graph& g, NodeId id) {
  const graph::Node& n = g.node(id);
  return n.op == "batch_norm" && ops::attr_int(g.op(id), n.attrs, "training_mode") != 0;
}

// One value has no variance, and what is normalized with it is zero.
bool has_variance(const Graph& g, NodeId id, Diag& diag) {
  const ops::TensorType& x = g.value(g.node(id).inputs[0]).type;
  if (x.elements() > x.shape[1]) return true;
  graph::node_error(g, id, diag,
                    fmt::format("a batch of {} has one value per channel, which has no statistics",
                                ops::type_text(x)),
                    "take more samples a step, or keep the running statistics: training_mode: 0");
  return false;
}

bool is_its_own(const Graph& g, NodeId id, ValueId v, Diag& diag) {
  if (g.value(v).users.size() == 1) return true;
  graph::node_error(
      g, id, diag,
      fmt::format("'{}' is a running statistic and is used in {} places, but it changes from step to step",
                  g.value(v).name, g.value(v).users.size()),
      "give each batch_norm statistics of its own");
  return false;
}

}  // namespace

void use_batch_statistics(Graph& g) {
  for (const NodeId id : g.nodes()) {
    graph::Node& n = g.node(id);
    if (n.op != "batch_norm") continue;
    ops::set_attr(n.attrs, "training_mode", int64_t(1));
    ops::set_attr(n.attrs, "unbiased", int64_t(1));
  }
}

bool running_statistics(Graph& g, std::vector<RunningStatistic>& out, Diag& diag) {
  for (const NodeId id : g.nodes()) {
    if (!takes_batch(g, id)) continue;
    if (!has_variance(g, id, diag)) return false;
    while (g.node(id).outputs.size() < 1 + std::size(kResults))
      g.add_result(id, g.fresh_name(g.node(id).name + "_" + kResults[g.node(id).outputs.size() - 1]));
    if (!graph::infer_node(g, id, diag)) return false;
    for (const size_t operand : {kMean, kVariance}) {
      const ValueId before = g.node(id).inputs[operand];
      if (!g.value(before).is_constant()) continue;  // the model's business
      if (!is_its_own(g, id, before, diag)) return false;
      out.push_back({before, g.node(id).outputs[operand - kMean + 1]});
    }
  }
  return true;
}

}  // namespace cs::frontend

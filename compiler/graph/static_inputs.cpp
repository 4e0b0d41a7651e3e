// States are the only inputs that are written.
#include "compiler/graph/static_inputs.h"

#include <fmt/format.h>

namespace cs::graph {

namespace {

// Who makes the next value of a state.
std::string writer_of(const Graph& g, const State& s) {
  const auto next = g.find_value(s.output);
  const NodeId producer = next ? g.value(source_of(g, *next)).producer : NodeId{};
  if (!producer.valid()) return fmt::format("it becomes '{}'", s.output);
  const Node& n = g.node(producer);
  return fmt::format("it is written by '{}' ({}{}{}), which makes '{}'", n.name, n.op,
                     n.where.empty() ? "" : ", ", n.where, s.output);
}

}  // namespace

bool check_static_inputs(Graph& g, bool allowed, Diag& diag) {
  bool ok = true;
  for (const State& s : g.states) {
    const auto input = g.find_value(s.input);
    if (!input || !g.value(*input).is_static) continue;
    g.value(*input).is_static = false;
    if (allowed) continue;
    diag.error_at(s.input, fmt::format("'{}' is said to be static, and {}", s.input, writer_of(g, s)),
                  "say that it changes (leave out static), do not train it, or allow it: "
                  "--allow-mutated-static-inputs");
    ok = false;
  }
  return ok;
}

}  // namespace cs::graph

// Runs a graph node by node with the rows' host evaluation: the reference that passes must not change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/graph/graph.h"

namespace cs::graph {

inline std::map<std::string, ops::Tensor> interpret(const Graph& g,
                                                    std::map<std::string, ops::Tensor> values) {
  Diag diag;
  for (NodeId id : g.topological()) {
    const Node& n = g.node(id);
    std::vector<const ops::Tensor*> operands;
    for (ValueId v : n.inputs) {
      const ops::Tensor* constant = g.constant_of(v);
      operands.push_back(!v.valid() ? nullptr : constant != nullptr ? constant : &values.at(g.value(v).name));
    }
    std::vector<ops::Tensor> results;
    EXPECT_TRUE(ops::evaluate(g.op(id), n.attrs, operands, results, diag)) << diag.to_string();
    for (size_t i = 0; i < n.outputs.size(); ++i) values[g.value(n.outputs[i]).name] = results.at(i);
  }
  std::map<std::string, ops::Tensor> out;
  for (ValueId v : g.outputs) out[g.value(v).name] = values.at(g.value(v).name);
  return out;
}

// For all inputs numbers of both signs.
inline std::map<std::string, ops::Tensor> inputs_of(const Graph& g) {
  std::map<std::string, ops::Tensor> in;
  for (const ValueId v : g.inputs) {
    ops::Tensor x(g.value(v).type);
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, double((7 * i) % 23) / 8 - 1.25);
    in.emplace(g.value(v).name, std::move(x));
  }
  return in;
}

}  // namespace cs::graph

// Graphs that are cut into shards, for tests.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "compiler/graph/graph.h"
#include "compiler/passes/shards.h"
#include "tests/unit/graph/interpret.h"
#include "tests/unit/graph/pass_bench.h"

namespace cs::passes {

inline size_t count(const graph::Graph& g, const std::string& op) {
  size_t n = 0;
  for (const graph::NodeId id : g.nodes()) n += g.node(id).op == op;
  return n;
}

// Cut into so many; values are those of the whole, to the bit.
inline Sharded cut(Bench& s, int64_t shards) {
  const auto before = graph::interpret(s.g, graph::inputs_of(s.g));
  Sharded made;
  EXPECT_TRUE(make_shards(s.g, shards, made, s.diag)) << s.diag.to_string();
  EXPECT_TRUE(graph::verify(s.g, s.diag)) << s.diag.to_string();
  EXPECT_EQ(graph::interpret(s.g, graph::inputs_of(s.g)), before);
  return made;
}

inline std::string graph_of(const std::string& input, const std::string& nodes, const std::string& constants = "") {
  return "inputs:\n" + input + (constants.empty() ? "" : "constants:\n" + constants) + "nodes:\n" + nodes +
         "outputs: [y]\n";
}

// So many small numbers, from -3 to 3, as a YAML list.
inline std::string list_of(int count) {
  std::string v;
  for (int i = 0; i < count; ++i) v += (i > 0 ? ", " : "") + std::to_string(i % 7 - 3);
  return "[" + v + "]";
}

}  // namespace cs::passes
